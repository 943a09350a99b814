"""Commits of files to a real table on a local disk, by delta-rs, with rivals and lost answers."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, Schema, write_deltalake

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.descriptions import described
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.direct.takeover import prepare
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.delta.direct.writing import IntoFiles
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.schema import INTERVAL, Column, Struct, arrow_schema
from tests.unit.delta.ingest_scene import (
    ID,
    KEYS,
    SETTINGS,
    TOPIC,
    VALUE,
    WHEN,
    no_brokers,
    offsets,
    prepared,
    records,
    taken,
    target,
    task,
    written,
)

LOG = Log(TOPIC, 0, ID)
P0 = TopicPartition(TOPIC, 0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)


def watermark(into: Target, log: Log = LOG) -> int | None:
    name = deltars.application(log, into.epoch)
    return DeltaTable(into.directory).transaction_version(name)


def bound(into: Target) -> int | None:
    return DeltaTable(into.directory).transaction_version(deltars.bound_of(P0, into.epoch))


def test_batches_follow_each_other(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    taken(commits, into, {0: range(5), 1: range(3)})
    taken(commits, into, {0: range(5, 9)})
    # Only transaction markers: no file, but the watermark moves.
    taken(commits, into, {1: range(0)}, {1: range(3, 5)})
    taken(commits, into, {1: range(5, 6)})
    assert offsets(into) == {0: list(range(9)), 1: [0, 1, 2, 5]}
    assert (watermark(into), watermark(into, LOG._replace(partition=1))) == (9, 6)
    assert DeltaTable(into.directory).version() == 4


def test_a_replay_adds_nothing_and_another_boundary_is_cut(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    taken(Commits(into), into, {0: range(10)})
    taken(Commits(into), into, {0: range(10)})
    taken(Commits(into), into, {0: range(4, 15)})
    assert offsets(into) == {0: list(range(15))}
    assert DeltaTable(into.directory).version() == 2


def test_a_late_and_an_early_zombie(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    zombie, successor = Commits(into), Commits(into)
    taken(zombie, into, {0: range(3)})
    held = written(into, {0: range(3, 8)})
    # It commits before its successor, whose range begins at the same offset.
    early = written(into, {0: range(3, 6)})
    zombie.commit(*early, no_brokers)
    successor.commit(*held, no_brokers)
    # And after it.
    zombie.commit(*early, no_brokers)
    assert offsets(into) == {0: list(range(8))}


def test_members_with_other_partitions_do_not_disturb_each_other(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    first, second = Commits(into), Commits(into)
    for at in range(0, 9, 3):
        taken(first, into, {0: range(at, at + 3)})
        taken(second, into, {1: range(at, at + 3)})
    # A partition moves there and back.
    taken(second, into, {0: range(9, 12)})
    taken(first, into, {0: range(9, 14)})
    assert offsets(into) == {0: list(range(14)), 1: list(range(9))}


def planted(
    monkeypatch: pytest.MonkeyPatch, before: Any = None, after: Any = None
) -> Iterator[None]:
    """Once, do something right before or right after the effect of a commit."""
    commit = deltars.commit
    left = [None]

    def planted_commit(*given: Any) -> None:
        is_first = bool(left) and left.pop() is None
        if is_first and before is not None:
            before()
        commit(*given)
        if is_first and after is not None:
            after()

    monkeypatch.setattr(deltars, "commit", planted_commit)
    yield


def failing() -> None:
    raise OSError("the answer is lost")


def test_a_commit_whose_answer_is_lost_is_not_made_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    for _ in planted(monkeypatch, after=failing):
        taken(commits, into, {0: range(5)})
    taken(commits, into, {0: range(5, 6)})
    assert offsets(into) == {0: list(range(6))}


def test_a_rival_between_look_and_commit_makes_it_decide_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = prepared(tmp_path)
    commits, rival = Commits(into), Commits(into)
    taken(commits, into, {0: range(2)})
    for _ in planted(monkeypatch, before=lambda: taken(rival, into, {0: range(2, 6)})):
        taken(commits, into, {0: range(2, 9)})
    assert offsets(into) == {0: list(range(9))}


@pytest.mark.parametrize("time_us", [253_402_300_800_000_000, -62_135_596_800_000_001, 2**62])
def test_a_day_that_readers_cannot_parse_leaves_the_table_readable(
    tmp_path: Path, time_us: int
) -> None:
    """As of a producer that sends microseconds for milliseconds."""
    into = target(tmp_path, (*KEYS, VALUE, WHEN), ("day",))
    prepare(into)
    (batch,) = records(into, {0: range(2)})
    odd = pa.array([-1, time_us], pa.int64()).cast(pa.timestamp("us", "UTC"))
    at = batch.schema.get_field_index("timestamp")
    rows = IntoFiles(into)(task({0: range(2)}), SETTINGS, [batch.set_column(at, WHEN.name, odd)])
    Commits(into).commit(*described(row for one in rows for row in one.to_pylist()), no_brokers)
    found = DeltaTable(into.directory).to_pyarrow_table(columns=["offset", "day"]).to_pylist()
    assert {one["offset"]: one["day"] for one in found} == {0: date(1969, 12, 31), 1: None}


def test_two_drivers_on_one_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    into = prepared(tmp_path)
    first, second = Commits(into), Commits(into)
    batch, same = written(into, {0: range(7)}), written(into, {0: range(7)})
    for _ in planted(monkeypatch, before=lambda: second.commit(*same, no_brokers)):
        first.commit(*batch, no_brokers)
    assert offsets(into) == {0: list(range(7))}


def test_storage_that_always_fails_ends_the_batch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = prepared(tmp_path)
    monkeypatch.setattr(deltars, "commit", lambda *_: failing())
    with pytest.raises(DeltaError, match=r"30 commits to .* failed, the last one with: the answer"):
        taken(Commits(into), into, {0: range(5)})


def test_a_gap_is_refused_unless_kafka_has_deleted_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    into = prepared(tmp_path)
    taken(Commits(into), into, {0: range(5)})
    batch = written(into, {0: range(8, 10)})

    def begins(at: int) -> Mapping[TopicPartition, int]:
        return {P0: at}

    with pytest.raises(
        DeltaError,
        match=r"The records 5 to 7 of orders-0 are missing in .* before "
        "offset 5, but this batch begins at 8",
    ):
        Commits(into).commit(*batch, lambda _: begins(6))
    assert offsets(into) == {0: list(range(5))}
    with caplog.at_level(logging.WARNING):
        Commits(into).commit(*batch, lambda _: begins(8))
    assert "without the records 5 to 7 of orders-0: Kafka no longer has them" in caplog.text
    assert offsets(into) == {0: [*range(5), 8, 9]}


def test_a_gap_may_be_accepted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    into = prepared(tmp_path)
    taken(Commits(into), into, {0: range(5)})
    batch = written(into, {0: range(8, 10)})
    with caplog.at_level(logging.WARNING):
        Commits(into, accept_gaps=True).commit(*batch, lambda _: {P0: 0})
    assert "accept_gaps=True allows it" in caplog.text
    assert watermark(into) == 10


def test_an_epoch_has_separate_watermarks(tmp_path: Path) -> None:
    into = target(tmp_path)
    columns = (*into.columns, into.columns[1].__class__("epoch", "int"))
    into = replace(into, columns=columns)
    prepare(into)
    first = replace(into, epoch=1)
    taken(Commits(first), first, {0: range(4)})
    again = replace(into, epoch=2)
    taken(Commits(again), again, {0: range(2)})
    rows = DeltaTable(into.directory).to_pyarrow_table(columns=["epoch", "offset"]).to_pylist()
    assert sorted((r["epoch"], r["offset"]) for r in rows) == [
        *((1, n) for n in range(4)),
        *((2, n) for n in range(2)),
    ]


def test_a_topic_that_was_created_again_begins_afresh(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    taken(commits, into, {0: range(5)})
    taken(commits, into, {0: range(3)}, topic_id="another")
    assert offsets(into) == {0: [0, 0, 1, 1, 2, 2, 3, 4]}


def filled(into: Target, ranges: Mapping[int, range], **given: Any) -> None:
    """By a writer that knows nothing of watermarks."""
    for batch in records(into, ranges):
        write_deltalake(into.directory, batch, mode="append", **given)


def test_a_table_is_taken_over_if_its_rows_show_its_position(tmp_path: Path) -> None:
    into = target(tmp_path)
    filled(into, {0: range(6), 1: range(3)}, partition_by=["topic", "partition"])
    prepare(into)
    commits = Commits(into)
    taken(commits, into, {0: range(4, 9), 1: range(3, 4), 2: range(2)})
    assert offsets(into) == {0: list(range(9)), 1: list(range(4)), 2: [0, 1]}
    # What was adopted is not the watermark of another topic with this name.
    taken(commits, into, {1: range(1)}, topic_id="another")
    assert offsets(into)[1] == [0, 0, 1, 2, 3]


def test_a_table_is_taken_over_again_after_other_writers(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    taken(Commits(into), into, {0: range(3)})
    without_property(into, version=2)
    filled(into, {0: range(3, 6)})
    prepare(into)
    # A replay from before the other writers.
    taken(Commits(into), into, {0: range(3, 8)})
    assert offsets(into) == {0: list(range(8))}


def test_a_clone_has_the_property_but_no_marks_and_is_taken_over(tmp_path: Path) -> None:
    into = target(tmp_path)
    DeltaTable.create(
        into.directory,
        Schema.from_arrow(arrow_schema(into.columns)),
        partition_by=["topic", "partition"],
        configuration={deltars.WATERMARKED: deltars.VERSION},
        raise_if_key_not_exists=False,
    )
    filled(into, {0: range(6)})
    prepare(into)
    taken(Commits(into), into, {0: range(3, 9)})
    assert offsets(into) == {0: list(range(9))}


@pytest.mark.parametrize("has_hole", [False, True])
def test_rows_of_other_writers_are_not_written_again(tmp_path: Path, has_hole: bool) -> None:
    into = target(tmp_path)
    there = [n for n in range(8) if not (has_hole and n in (2, 5))]
    for n in there:
        filled(into, {0: range(n, n + 1)}, partition_by=["topic", "partition"])
    prepare(into)
    commits = Commits(into)
    taken(commits, into, {0: range(1, 4)})
    taken(commits, into, {0: range(4, 10)})
    assert offsets(into) == {0: list(range(10))}
    assert bound(into) == 0  # the watermark is beyond it
    # What is between the watermark and the bound may be known in part.
    deltars.commit(DeltaTable(into.directory), [], {deltars.bound_of(P0, None): 20}, False)
    taken(Commits(into), into, {0: range(10, 15)})
    assert (bound(into), watermark(into)) == (20, 15)
    assert offsets(into) == {0: list(range(15))}


def test_rows_are_not_compared_where_the_table_does_not_tell_them(tmp_path: Path) -> None:
    into = target(tmp_path, (VALUE,), ())
    prepare(into)
    marks = {deltars.bound_of(P0, None): 3}
    deltars.commit(DeltaTable(into.directory), [], marks, False)
    with pytest.raises(DeltaError, match="topic, partition, offset is missing or has another type"):
        taken(Commits(into), into, {0: range(2, 5)})
    taken(Commits(into), into, {0: range(3, 5)})
    assert watermark(into) == 5


def test_an_empty_table_is_taken_over(tmp_path: Path) -> None:
    into = target(tmp_path)
    filled(into, {0: range(0)}, partition_by=["topic", "partition"])
    prepare(into)
    taken(Commits(into), into, {0: range(3)})
    assert offsets(into) == {0: [0, 1, 2]}


def test_a_writer_that_commits_during_the_take_over_makes_it_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = target(tmp_path)
    filled(into, {0: range(3)}, partition_by=["topic", "partition"])
    highest = deltars.highest_offsets

    def overtaken(*given: Any) -> Any:
        found = highest(*given)
        filled(into, {0: range(3, 6)})
        return found

    monkeypatch.setattr(deltars, "highest_offsets", overtaken)
    with pytest.raises(Exception, match=r"already exists|commit"):
        prepare(into)
    assert deltars.WATERMARKED not in DeltaTable(into.directory).metadata().configuration


def test_a_table_whose_rows_do_not_show_its_position_is_refused(tmp_path: Path) -> None:
    into = target(tmp_path, (VALUE,), ())
    batch = records(into, {0: range(3)})[0].select(["value"])
    write_deltalake(into.directory, batch)
    with pytest.raises(
        DeltaError, match="do not tell which records they are: topic, partition, off"
    ):
        prepare(into)


def without_property(into: Target, version: int) -> None:
    """As ALTER TABLE ... UNSET TBLPROPERTIES commits it."""
    log = Path(into.directory) / "_delta_log"
    actions = [json.loads(line) for line in (log / f"{0:020}.json").read_text().splitlines()]
    (metadata,) = (one for one in actions if "metaData" in one)
    metadata["metaData"]["configuration"] = {}
    (log / f"{version:020}.json").write_text(json.dumps(metadata))


def test_a_property_that_is_lost_stops_the_query(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    taken(commits, into, {0: range(3)})
    without_property(into, version=2)
    with pytest.raises(DeltaError, match=r"has lost its property zkgroup\.watermarks"):
        taken(commits, into, {0: range(3, 4)})


def test_a_constraint_that_is_added_stops_the_query(tmp_path: Path) -> None:
    into = prepared(tmp_path)
    commits = Commits(into)
    taken(commits, into, {0: range(3)})
    DeltaTable(into.directory).alter.add_constraint({"small": "offset < 1000"})
    with pytest.raises(DeltaError, match="the table has the constraint 'small'"):
        taken(commits, into, {0: range(3, 4)})


def test_a_type_that_delta_does_not_have_is_named(tmp_path: Path) -> None:
    into = target(tmp_path, (*KEYS, Column("value", Struct((Column("took", INTERVAL),)))))
    told = "'value' has the type struct<took:interval .*Name the type of the field as STRUCT"
    with pytest.raises(DeltaError, match=told):
        prepare(into)
    assert not Path(into.directory).exists()


def test_other_files_are_not_made_a_table(tmp_path: Path) -> None:
    into = target(tmp_path)
    Path(into.directory).mkdir()
    (Path(into.directory) / "letters.csv").touch()
    with pytest.raises(DeltaError, match=r"no Delta table but other files: letters\.csv"):
        prepare(into)
