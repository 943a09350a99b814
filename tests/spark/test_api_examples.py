"""The examples of docs/api.md, which are those of the docstrings, on real servers."""

from __future__ import annotations

import json
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from pyspark_zkgroup.delta.jars import delta_jars
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.spark_jobs import SparkJobs
from zkgroup_sandbox.produce import produce

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]
EVENTS = 300
WITHIN_S = 540.0


def test_each_example_of_a_public_name_runs(sandbox_41: Sandbox, tmp_path: Path) -> None:
    topic = f"examples-{uuid.uuid4().hex[:8]}"
    sandbox_41.create_topic(topic, 2)
    produce(sandbox_41.bootstrap_servers, topic, EVENTS)
    options = {
        "kafka.bootstrap.servers": sandbox_41.bootstrap_servers,
        "group.id": topic,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    file = tmp_path / "given.json"
    file.write_text(
        json.dumps({"options": options, "directory": str(tmp_path), "rows": EVENTS}), "utf-8"
    )
    jobs = SparkJobs(tmp_path, "", None, "", "", tuple(delta_jars(print)))
    shown = subprocess.run(
        [sys.executable, "-m", "tests.spark.api_examples", str(file)],
        env={**jobs.environment(cores=2), "PYTHONPATH": f"{ROOT}:{ROOT / 'sandbox'}"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=WITHIN_S,
    )
    failed = {name: why for name, why in json.loads(shown.stdout.splitlines()[-1]).items() if why}
    assert failed == {}
