"""Several writers append what they have read, and the table holds each record once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.demo.spark_jobs import SparkJobs
from pyspark_zkgroup.sandbox.delta_jars import delta_jars
from pyspark_zkgroup.sandbox.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    directory = tmp_path_factory.mktemp("races")
    jobs = SparkJobs(directory, "", None, "", "", tuple(delta_jars(find_java(), print)))
    shown = subprocess.run(
        [sys.executable, "-m", "tests.spark.delta_races", str(directory / "tables")],
        # One writer is held up in a task while the other one writes.
        env={**jobs.environment(cores=2), "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=500,
    )
    found: dict[str, dict[str, Any]] = json.loads(shown.stdout.splitlines()[-1])
    return found


def test_rows_that_are_there_are_not_appended_again(scenes: Mapping[str, Any]) -> None:
    assert scenes["again"] == {"read": [100, 100, 100, 0], "found": [150, 150]}


def test_the_table_is_read_as_of_the_write_not_as_of_the_frame(scenes: Mapping[str, Any]) -> None:
    assert scenes["before"]["found"] == [250, 250]


def test_a_rival_within_the_write_makes_it_compare_again(scenes: Mapping[str, Any]) -> None:
    assert scenes["same partition"] == {"tries": 2, "found": [151, 151]}


def test_a_writer_of_other_partitions_is_not_in_the_way(scenes: Mapping[str, Any]) -> None:
    assert scenes["other partition"] == {"tries": 1, "found": [251, 251]}


def test_writers_that_find_no_table_make_one(scenes: Mapping[str, Any]) -> None:
    assert scenes["new"]["found"] == [205, 205]


def test_writers_of_two_processes_are_kept_apart_on_a_local_disk(
    scenes: Mapping[str, Any],
) -> None:
    found = scenes["other process"]
    assert found["waited"] == [10, 10]
    assert found["said"].startswith("waiting for another process that writes to /")
    assert found["found"] == [20, 20]


def test_plain_python_without_the_jars_of_a_submitted_job_is_told_what_to_do(
    tmp_path: Path,
) -> None:
    script = "from pyspark_zkgroup.delta import session\nsession('no jars', print)"
    shown = subprocess.run(
        [sys.executable, "-c", script],
        # Jars of the user's own, and Delta is not among them.
        env={**os.environ, "PYSPARK_SUBMIT_ARGS": "--conf spark.jars= pyspark-shell"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert shown.returncode != 0
    assert (
        "[ZKG-012] Spark has no class io.delta.tables.DeltaTable. Submit with --jars "
        '"$(python -m pyspark_zkgroup.sandbox.delta_jars)"'
    ) in shown.stderr
