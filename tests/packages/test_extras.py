"""`pip install pyspark-zkgroup[delta,light]` where nothing was before, and what is left out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pyspark_zkgroup.cli.main import COMMANDS
from tests.harness.delta_table import records
from tests.harness.light import LightGroup
from tests.packages.clean_python import ROOT, CleanPython, ran
from tests.packages.distribution import Distribution
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.demo.spark_jobs import SETTINGS

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS, ROWS = 4, 400


def health(python: CleanPython) -> tuple[int, dict[str, dict[str, str]]]:
    told = python.command("zkgroup", "doctor", "--json")
    return told.returncode, {one["thing"]: one for one in json.loads(told.stdout)}


def test_the_wheel_alone_is_the_command_line_and_needs_no_spark(
    distribution: Distribution, clean_python: Callable[[], CleanPython]
) -> None:
    python = clean_python()
    python.install(str(distribution.wheel))

    told = python.command("zkgroup", "--help")
    assert told.returncode == 0, told.stderr
    assert [name for name in COMMANDS if name not in told.stdout] == []
    status, found = health(python)
    assert status == 1
    assert [name for name, one in found.items() if one["state"] == "ill"] == ["pyspark"]
    assert found["native decoder"]["state"] == "well"
    assert found["delta-spark"]["state"] == "note"
    for option, missing in (("--listen=127.0.0.1:0", "pyspark-zkgroup[light]"),):
        refused = python.command("zkgroup", "coordinator", "--zookeeper=127.0.0.1:1", option)
        assert refused.returncode != 0
        assert missing in refused.stderr


def test_the_sandbox_starts_where_nothing_but_the_wheels_is(
    distribution: Distribution, clean_python: Callable[[], CleanPython], tmp_path: Path
) -> None:
    python = clean_python()
    python.install(f"{distribution.wheel}[spark]")
    missing = python.command("zkgroup", "sandbox", "status")
    assert (missing.returncode, missing.stderr.count("\n")) == (1, 1)
    assert "needs the package zkgroup-sandbox" in missing.stderr

    python.install(str(distribution.wheel), str(distribution.sandbox))
    box = ("--dir", str(tmp_path / "box"))
    started = python.command("zkgroup", "sandbox", "start", *box, "--brokers", "0", "--json")
    try:
        assert started.returncode == 0, started.stderr
        assert json.loads(started.stdout)["phase"] == "running"
    finally:
        stopped = python.command("zkgroup", "sandbox", "stop", *box, "--json")
    assert json.loads(stopped.stdout)["phase"] == "stopped"


@pytest.mark.spark
def test_with_its_extras_a_light_member_without_kazoo_writes_into_delta(
    distribution: Distribution,
    clean_python: Callable[[], CleanPython],
    sandbox: Sandbox,
    tmp_path: Path,
) -> None:
    python = clean_python()
    python.install(f"{distribution.wheel}[delta,light]")
    status, found = health(python)
    assert (status, found["native decoder"]["state"]) == (0, "well"), found
    assert {found[name]["state"] for name in ("pyspark", "delta-spark", "kazoo")} == {"well"}
    python.run("-m", "pip", "uninstall", "--yes", "kazoo")
    python.run(str(ROOT / "requirements" / "bytecode.py"))  # nothing but speed

    group = LightGroup(sandbox)
    try:
        group.office()
        group.in_office()
        topic = group.topic(PARTITIONS)
        group.produce(topic, ROWS // PARTITIONS)
        told = stream_to_delta(python, group, topic, tmp_path)
        assert f"read {ROWS} offsets in 1 batch in " in told
        assert "ZKG-141" not in told
        found_records = records(tmp_path / "table")
        assert len(set(found_records)) == len(found_records) == ROWS
        assert group.offsets(topic) == dict.fromkeys(range(PARTITIONS), b"100")
    finally:
        group.close()


def stream_to_delta(python: CleanPython, group: LightGroup, topic: str, place: Path) -> str:
    options = group.options(topic)
    command = [str(python.python), str(ROOT / "jobs" / "stream_to_delta.py"), "--available-now"]
    command += ["--group", options.pop("group.id"), "--subscribe", options.pop("subscribe")]
    command += ["--table", str(place / "table"), "--checkpoint", str(place / "checkpoint")]
    for name, value in options.items():
        if name not in ("startingOffsets", "threads"):
            command += ["--option", f"{name}={value}"]
    settings = " ".join(f"--conf {name}={value}" for name, value in SETTINGS.items())
    submit = f"--master local[2] --driver-memory 768m {settings} pyspark-shell"
    return ran(command, {"PYSPARK_SUBMIT_ARGS": submit, "SPARK_LOCAL_IP": "127.0.0.1"}, cwd=place)
