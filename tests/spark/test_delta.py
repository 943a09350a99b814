"""Several writers append what they have read, and the table holds each record once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.spark.driven import driven, printed

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3100)]


# One driver for all of these, and another one for all of those that are too long for every day.
DAILY = (
    *("again", "same partition", "planned", "compiled", "arrow"),
    *("steady", "overtaken", "taken over"),
)
LONG = (
    *("before", "by name", "other partition", "other process", "new"),
    *("own", "clustered", "read again", "refused", "compacted"),
    *("all types", "answer lost", "by hand", "not suited"),
)
PLANTED = (
    "nothing compared > again",
    "compared outside > again",
    "compared outside > before",
    "compared outside > same partition",
    "no lock > other process",
)

Found = Mapping[str, Any]


class Scenes:
    """What the scenes of one driver found."""

    def __init__(self, directory: Path, names: tuple[str, ...], within_s: float) -> None:
        tables = str(directory / "tables")
        shown = driven(
            "tests.spark.delta_scenes", tables, *names, directory=directory, within_s=within_s
        )
        self._found: Mapping[str, Found] = printed(shown)

    def __getitem__(self, name: str) -> Found:
        found = self._found[name]
        assert "failed" not in found, found["failed"]
        return found


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return Scenes(tmp_path_factory.mktemp("scenes"), DAILY, within_s=500.0)


@pytest.fixture(scope="module")
def long_scenes(tmp_path_factory: pytest.TempPathFactory) -> Scenes:
    return Scenes(tmp_path_factory.mktemp("scenes"), (*LONG, *PLANTED), within_s=3000.0)


def test_rows_that_are_there_are_not_appended_again(scenes: Scenes) -> None:
    assert scenes["again"] == {"read": [100, 100, 100, 0], "found": [150, 150]}


@pytest.mark.long
def test_the_table_is_read_as_of_the_write_not_as_of_the_frame(long_scenes: Scenes) -> None:
    assert long_scenes["before"]["found"] == [250, 250]


def test_a_rival_within_the_write_makes_it_compare_again(scenes: Scenes) -> None:
    assert scenes["same partition"] == {"tries": 2, "found": [151, 151]}


@pytest.mark.long
def test_a_rival_of_a_table_by_its_name_makes_it_compare_again(long_scenes: Scenes) -> None:
    assert long_scenes["by name"] == {"tries": 2, "found": [151, 151]}


@pytest.mark.long
def test_a_writer_of_other_partitions_is_not_in_the_way(long_scenes: Scenes) -> None:
    assert long_scenes["other partition"] == {"tries": 1, "found": [251, 251]}


@pytest.mark.long
def test_writers_that_find_no_table_make_one(long_scenes: Scenes) -> None:
    assert long_scenes["new"]["found"] == [205, 205]


@pytest.mark.long
def test_writers_of_two_processes_are_kept_apart_on_a_local_disk(
    long_scenes: Scenes,
) -> None:
    found = long_scenes["other process"]
    assert found["waited"] == [10, 10]
    assert found["said"].startswith("[ZKG-140] Waiting for the lock on /")
    assert f"process {found['holder']} since today holds its lock" in found["said"]
    assert found["found"] == [20, 20]


def test_a_batch_is_held_against_its_plan(scenes: Scenes) -> None:
    """Rows of one record stay together; those of a record that is there are dropped, all of them;
    a row that the plan does not hold would be compared with nothing.
    """
    found = scenes["planned"]
    assert found["found"] == found["still"] == [140, 100]
    told = "[ZKG-012] the batch holds a row that its plan does not: its topic, partition or offset"
    assert all(text.startswith(told) for text in [*found["strangers"], found["null"]]), found
    assert (
        "/offsets/7, where Spark logs the batch's plan. Give the checkpointLocation"
        in (found["no plan"])
    )


def test_spark_compiles_the_look_at_the_rows_once_and_not_for_each_batch(scenes: Scenes) -> None:
    assert scenes["compiled"] == {"stages": 1, "same": True}


def test_access_to_the_columns_of_tasks_is_not_checked(scenes: Scenes) -> None:
    assert scenes["arrow"] == {"checked": False}


@pytest.mark.long
def test_a_table_of_the_users_own_by_name_with_other_columns(long_scenes: Scenes) -> None:
    assert long_scenes["own"] == {"found": [300, 300]}


@pytest.mark.long
def test_a_clustered_table(long_scenes: Scenes) -> None:
    assert long_scenes["clustered"] == {"found": [150, 150]}


@pytest.mark.long
def test_records_are_written_again_on_purpose(long_scenes: Scenes) -> None:
    found = long_scenes["read again"]
    assert found["deleted"] == [60, 60]
    assert found["again"] == [100, 100]
    assert "has no column 'epoch'" in found["told"]
    assert found["epochs"] == [210, 210]


@pytest.mark.long
def test_what_cannot_be_written_is_an_error(long_scenes: Scenes) -> None:
    found = long_scenes["refused"]
    assert "/parquet holds no Delta table, but other files: part-" in found["parquet"]
    assert "the batch holds rows without a topic, partition or offset" in found["nulls"]
    assert "the batch has no column 'topic': it has partition, offset, value" in found["columns"]


@pytest.mark.long
def test_the_writer_is_refused_before_its_query_starts(long_scenes: Scenes) -> None:
    found = long_scenes["refused"]
    assert "has no column 'partition': it has timestamp, value, topic" in found["writer columns"]
    assert "/there has no column 'timestamp', which the frame has" in found["writer new"]
    assert "/parquet holds no Delta table, but other files: part-" in found["appender"]


@pytest.mark.long
def test_compaction_during_writes_neither_loses_nor_doubles(long_scenes: Scenes) -> None:
    # Two Kafka partitions in turn: 0-99, 100-199, ... of one, 50-149, ... of the other.
    assert long_scenes["compacted"] == {"errors": [], "compacted": True, "found": [1200, 1200]}


def test_only_a_replay_is_compared_with_the_table(scenes: Scenes) -> None:
    assert scenes["steady"] == {
        "compared at first": 0,
        "compared": [[[90, 209]]],
        # 20 records make two rows each.
        "found": [250, 230],
        "bound": 230,
        "left over": [],
    }


def test_a_rival_before_the_commit_makes_it_look_again(scenes: Scenes) -> None:
    # The rival's write, and two of the member.
    assert scenes["overtaken"] == {"writes": 3, "found": [50, 50], "bound": 50}


def test_a_table_with_a_hole_is_taken_over_and_append_once_goes_ahead(scenes: Scenes) -> None:
    assert scenes["taken over"] == {
        "bounds": [None, 60, 100, 120],
        "read": 10,
        "compared": 1,
        "found": [118, 118],
    }


@pytest.mark.long
def test_a_commit_whose_answer_is_lost_is_not_made_twice(long_scenes: Scenes) -> None:
    assert long_scenes["answer lost"] == {"lost": 1, "found": [20, 20]}


@pytest.mark.long
def test_spark_and_delta_rs_read_the_same_rows(long_scenes: Scenes) -> None:
    found = long_scenes["all types"]
    assert (found["rows"], found["same"]) == (60, True)
    assert found["counts"] == found["expected"]
    assert all(found["counts"].values())
    assert set(found["bounded"]) >= {"min.topic", "max.offset", "min.at", "max.at", "max.s.b"}
    assert not {"min.x", "max.Price", "min.tags"} & set(found["bounded"])


@pytest.mark.long
def test_what_is_done_to_the_table_by_hand(long_scenes: Scenes) -> None:
    """Deleted and restored rows come back when they are read again; a clone has its own marks."""
    found = long_scenes["by hand"]
    assert found == {
        "deleted": [27, 27],
        "again": [30, 30],
        "restored": [20, 20],
        "found": [40, 40],
        "clone": [40, 40],
        "marks of clone": [40, True],
    }


@pytest.mark.long
def test_a_table_that_needs_sparks_writer_is_compared_or_refused(long_scenes: Scenes) -> None:
    found: Found = long_scenes["not suited"]
    assert (found["compared"], found["found"]) == (2, [20, 20])
    assert "because of the missing column 'more'" in found["narrow"]
    assert found["wider"] == [20, 20]
    for when in ("while it runs", "at the start", "once"):
        assert "because of the constraint 'small'. Correct that." in found[when]


@pytest.mark.long
def test_plain_python_without_the_jars_of_a_submitted_job_learns_what_to_do(
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
        "[ZKG-012] This Spark session has no Delta jars: Spark has no class "
        "io.delta.tables.DeltaTable. Create it with spark = pyspark_zkgroup.delta.session()"
    ) in shown.stderr


def test_a_session_without_delta_is_refused_before_the_query_starts(tmp_path: Path) -> None:
    script = (
        "from pyspark.sql import SparkSession\n"
        "from pyspark_zkgroup import delta\n"
        "from pyspark_zkgroup.errors import DeltaError\n"
        "spark = SparkSession.builder.master('local[1]').getOrCreate()\n"
        "frame = spark.readStream.format('rate').load()\n"
        "given = {'checkpointLocation': '/c'}\n"
        "for make in (lambda: delta.writer(frame, '/t', **given),\n"
        "             lambda: delta.appender('/t', **given)):\n"
        "    try:\n"
        "        make()\n"
        "    except DeltaError as error:\n"
        "        print(error)\n"
    )
    shown = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    )
    told = [line for line in shown.stdout.splitlines() if "has no Delta jars" in line]
    assert len(told) == 2
    for line in told:
        assert "--conf spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in line


@pytest.mark.long
def test_planted_bugs_are_shown_by_the_scenes(long_scenes: Scenes) -> None:
    """What the tests above would say of a writer that does not do its work."""
    assert long_scenes["nothing compared > again"]["found"] == [300, 150]
    # Comparing at the wrong time works until another writer writes.
    assert long_scenes["compared outside > again"]["found"] == [150, 150]
    assert long_scenes["compared outside > before"]["found"] == [300, 250]
    assert long_scenes["compared outside > same partition"] == {"tries": 1, "found": [251, 151]}
    alone = long_scenes["no lock > other process"]
    assert (alone["waited"], alone["said"]) == ([20, 20], "nothing")
