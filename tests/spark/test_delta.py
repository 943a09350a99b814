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


def shown_by(module: str, directory: Path) -> Mapping[str, Mapping[str, Any]]:
    jobs = SparkJobs(directory, "", None, "", "", tuple(delta_jars(find_java(), print)))
    shown = subprocess.run(
        [sys.executable, "-m", module, str(directory / "tables")],
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


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    return shown_by("tests.spark.delta_races", tmp_path_factory.mktemp("races"))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Mapping[str, Any]]:
    return shown_by("tests.spark.delta_tables", tmp_path_factory.mktemp("tables"))


def test_rows_that_are_there_are_not_appended_again(scenes: Mapping[str, Any]) -> None:
    assert scenes["again"] == {"read": [100, 100, 100, 0], "found": [150, 150]}


def test_the_table_is_read_as_of_the_write_not_as_of_the_frame(scenes: Mapping[str, Any]) -> None:
    assert scenes["before"]["found"] == [250, 250]


def test_a_rival_within_the_write_makes_it_compare_again(scenes: Mapping[str, Any]) -> None:
    assert scenes["same partition"] == {"tries": 2, "found": [151, 151]}
    assert scenes["by name"] == {"tries": 2, "found": [151, 151]}


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
    assert f"process {found['holder']} since today holds its lock" in found["said"]
    assert found["found"] == [20, 20]


def test_a_batch_is_held_against_its_plan(tables: Mapping[str, Any]) -> None:
    """Rows of one record stay together; those of a record that is there are dropped, all of them;
    a row that the plan does not hold would be compared with nothing.
    """
    found = tables["planned"]
    assert found["found"] == found["still"] == [140, 100]
    told = "[ZKG-012] the batch holds a row that its plan does not: its topic, partition or offset"
    assert all(text.startswith(told) for text in [*found["strangers"], found["null"]]), found
    assert (
        "/offsets/7, where Spark logs the batch's plan. Give the checkpointLocation"
        in (found["no plan"])
    )


def test_a_table_of_the_users_own_by_name_with_other_columns(tables: Mapping[str, Any]) -> None:
    assert tables["by name"] == {"found": [300, 300]}


def test_a_clustered_table(tables: Mapping[str, Any]) -> None:
    assert tables["clustered"] == {"found": [150, 150]}


def test_records_are_written_again_on_purpose(tables: Mapping[str, Any]) -> None:
    found = tables["read again"]
    assert found["deleted"] == [60, 60]
    assert found["anew"] == [100, 100]
    assert "has no column 'epoch'" in found["told"]
    assert found["epochs"] == [210, 210]


def test_what_cannot_be_written_is_told(tables: Mapping[str, Any]) -> None:
    found = tables["refused"]
    assert "/parquet holds no Delta table, but other files: part-" in found["parquet"]
    assert "the batch holds rows without a topic, partition or offset" in found["nulls"]
    assert "the batch has no column 'topic': it has partition, offset, value" in found["columns"]


def test_compaction_beside_writers_neither_loses_nor_doubles(tables: Mapping[str, Any]) -> None:
    # Two Kafka partitions in turn: 0-99, 100-199, ... of one, 50-149, ... of the other.
    assert tables["compacted"] == {"errors": [], "compacted": True, "found": [1200, 1200]}


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
