"""Spark Connect: the client has no JVM, and the source runs where the server is."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyspark
import pytest

from tests.harness.oracle import judge
from tests.matrix.lab import group_options
from tests.matrix.session import environment
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import produce

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ["grpc", "grpc_status", "google.protobuf"]
if not pyspark.__version__.startswith("4.0."):
    # Plans have been compressed since 4.1.
    NEEDED.append("zstandard")
COUNT = 100

pytestmark = [pytest.mark.long, pytest.mark.spark, pytest.mark.timeout(600)]


def lacking() -> list[str]:
    found = []
    for name in NEEDED:
        try:
            if importlib.util.find_spec(name) is None:
                found.append(name)
        except ModuleNotFoundError:  # of the package around it
            found.append(name)
    return found


@pytest.mark.skipif(bool(lacking()), reason=f"pyspark[connect] is not there: no {lacking()}")
def test_spark_connect_reads_a_batch_and_a_stream(brokers: Sandbox, tmp_path: Path) -> None:
    topic = f"connect-{tmp_path.name}"[:60] + os.urandom(4).hex()
    brokers.create_topic(topic, 4)
    produced = produce(brokers.bootstrap_servers, topic, COUNT)
    options = group_options(brokers, f"g-{topic}", topic)
    with tempfile.TemporaryDirectory(prefix="zkm") as tmp:
        shown = subprocess.run(
            [sys.executable, "-m", "tests.matrix.connect_program", json.dumps(options), tmp_path],
            # An own port: that of Spark Connect may be another one's on this machine.
            env={
                **os.environ,
                **environment(Path(tmp)),
                "PYTHONPATH": str(ROOT),
                "SPARK_TESTING": "1",
            },
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
    assert shown.returncode == 0, shown.stdout[-2000:] + shown.stderr[-6000:]
    found = json.loads(shown.stdout.splitlines()[-1])
    assert found["session"] == "pyspark.sql.connect.session"
    for kind in ("batch", "stream"):
        verdict = judge(produced.offsets(), map(tuple, found[kind]))
        assert verdict.exactly_once, f"{kind}: {verdict}"
    assert found["typed ended"]
    assert found["columns"] == [["value", "offset", "partition", "topic"]] * 2
    assert found["events"] == [list(range(COUNT))] * 2
    assert found["ended"]
    assert found["progress"] == {"group": options["group.id"], "held": 4}
    assert not found["active"]
    assert found["delta"].startswith("A Spark Connect session cannot use")
