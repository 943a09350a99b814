"""What a commit adds where the table's watermarks stand here or there."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.delta.direct.rules import (
    ADOPTED,
    Cut,
    Decision,
    Gap,
    Log,
    ReadRange,
    WrittenFile,
    asked,
    decide,
    unexplained,
)
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

LOG = Log("orders", 3, "Yw1hPrQ2TDmM0gQsk4UoYQ")
NEW = Log("orders", 3, "qF0hPrQ2TDmM0gQsk4Uo1A")


def read(start: int, until: int, log: Log = LOG) -> ReadRange:
    return ReadRange(log, OffsetRange(start, until))


def file(first: int, last: int, log: Log = LOG) -> WrittenFile:
    return WrittenFile(f"{first}-{last}", log, first, last, last - first + 1)


HAS_ID = {LOG.without_id: ADOPTED}
A, B, C = file(100, 149), file(150, 179), file(180, 197)
BATCH = ([read(100, 200)], [A, B, C])


@pytest.mark.parametrize(
    ("watermark", "decision"),
    [
        (None, Decision((A, B, C), (), {LOG: 200})),
        (100, Decision((A, B, C), (), {LOG: 200})),
        (150, Decision((B, C), (), {LOG: 200}, (read(100, 150),))),
        (160, Decision((C,), (Cut(B, 160),), {LOG: 200}, (read(100, 160),))),
        (198, Decision((), (), {LOG: 200}, (read(100, 198),))),
        (200, Decision((), (), {}, (read(100, 200),))),
        (900, Decision((), (), {}, (read(100, 200),))),
        (90, Decision((A, B, C), (), {LOG: 200}, (), (Gap(LOG, 90, 100),))),
    ],
)
def test_files_are_added_cut_or_dropped_at_the_watermark(
    watermark: int | None, decision: Decision
) -> None:
    watermarks = HAS_ID if watermark is None else {**HAS_ID, LOG: watermark}
    assert decide(watermarks, *BATCH) == decision


@pytest.mark.parametrize(
    ("watermark", "bound", "added", "cut", "is_passed"),
    [
        (None, 100, (A, B, C), (), True),
        (None, 120, (B, C), (Cut(A, 100, 120),), True),
        (None, 170, (C,), (Cut(A, 100, 170), Cut(B, 100, 170)), True),
        (150, 170, (C,), (Cut(B, 150, 170),), True),
        (160, 170, (C,), (Cut(B, 160, 170),), True),
        (170, 160, (C,), (Cut(B, 170, 160),), True),
        (None, 200, (), tuple(Cut(one, 100, 200) for one in (A, B, C)), True),
        (None, 300, (), tuple(Cut(one, 100, 300) for one in (A, B, C)), False),
        (200, 300, (), (), False),
        (100, 0, (A, B, C), (), False),
    ],
)
def test_files_below_the_bound_are_compared_with_the_table(
    watermark: int | None,
    bound: int,
    added: tuple[WrittenFile, ...],
    cut: tuple[Cut, ...],
    is_passed: bool,
) -> None:
    watermarks = HAS_ID if watermark is None else {**HAS_ID, LOG: watermark}
    found = decide(watermarks, *BATCH, {LOG.of: bound})
    assert (found.add, found.cut, found.gaps) == (added, cut, ())
    assert found.passed == ({LOG.of} if is_passed else set())
    assert found.advance == ({} if watermark == 200 else {LOG: 200})


@pytest.mark.parametrize(
    ("start", "compared", "looked_at"),
    [(0, 0, range(150, 150)), (0, 160, range(150, 160)), (155, 300, range(155, 180))],
)
def test_a_cut_looks_at_offsets_of_its_file_only(
    start: int, compared: int, looked_at: range
) -> None:
    found = Cut(B, start, compared).looked_at
    assert (found.start, found.until) == (looked_at.start, looked_at.stop)


@pytest.mark.parametrize(
    ("watermark", "bound", "seen"), [(None, 90, 90), (80, 90, 90), (90, 80, 90)]
)
def test_a_gap_begins_behind_watermark_and_bound(
    watermark: int | None, bound: int, seen: int
) -> None:
    watermarks = {} if watermark is None else {LOG: watermark}
    assert decide(watermarks, *BATCH, {LOG.of: bound}).gaps == (Gap(LOG, seen, 100),)


def test_a_range_without_records_moves_the_watermark() -> None:
    watermarks = {**HAS_ID, LOG: 100}
    assert decide(watermarks, [read(100, 200)], []) == Decision(advance={LOG: 200})


def test_an_empty_range_moves_nothing() -> None:
    assert decide({LOG: 100}, [read(100, 100)], []) == Decision()


def test_a_range_that_several_tasks_read_is_one() -> None:
    pieces = [read(150, 200), read(100, 150)]
    assert decide(HAS_ID, pieces, [A, B, C]).advance == {LOG: 200}


@pytest.mark.parametrize("second", [(140, 200), (160, 200), (100, 150)])
def test_pieces_of_a_range_that_do_not_fit_are_refused(second: tuple[int, int]) -> None:
    with pytest.raises(DeltaError, match="do not continue each other"):
        decide({}, [read(100, 150), read(*second)], [A])


@pytest.mark.parametrize("stray", [file(99, 120), file(180, 200), file(1, 2, NEW)])
def test_a_file_outside_of_what_was_read_is_refused(stray: WrittenFile) -> None:
    with pytest.raises(DeltaError, match="that its batch has not read"):
        decide({}, [read(100, 200)], [stray])


def test_a_topic_that_was_created_again_begins_afresh() -> None:
    files = [file(0, 9, NEW)]
    found = decide({**HAS_ID, LOG: 200}, [read(0, 10, NEW)], files)
    assert found == Decision(tuple(files), (), {NEW: 10})
    # A zombie that still reads the deleted topic is judged by its own watermark.
    assert decide({LOG: 200, NEW: 10}, *BATCH).advance == {}


def test_a_watermark_from_before_ids_is_adopted_once() -> None:
    before = {LOG.without_id: 150}
    found = decide(before, *BATCH)
    assert (found.add, found.advance) == ((B, C), {LOG: 200, LOG.without_id: ADOPTED})
    after = {**before, **found.advance}
    assert decide(after, [read(200, 210)], []).advance == {LOG: 210}
    # The topic is created again: what was adopted is not its own.
    assert decide(after, [read(0, 10, NEW)], [file(0, 9, NEW)]).advance == {NEW: 10}


def test_a_table_that_was_written_in_another_way_meanwhile_is_taken_over_again() -> None:
    found = decide({LOG: 100, LOG.without_id: 160}, *BATCH)
    assert (found.cut, found.add) == ((Cut(B, 160),), (C,))
    assert found.advance == {LOG: 200, LOG.without_id: ADOPTED}


def test_the_first_watermark_with_an_id_says_that_ids_are_known() -> None:
    assert decide({}, [read(0, 10)], []).advance == {LOG: 10, LOG.without_id: ADOPTED}


def test_brokers_without_ids_use_the_name() -> None:
    log = LOG.without_id
    assert decide({log: 100}, [read(100, 200, log)], []).advance == {log: 200}


def test_brokers_that_stop_telling_ids_are_refused() -> None:
    log = LOG.without_id
    with pytest.raises(DeltaError, match="no longer tell the id of the topic of orders-3"):
        decide({LOG: 200, log: ADOPTED}, [read(200, 300, log)], [])


def test_the_watermark_of_the_log_without_an_id_is_asked_for_too() -> None:
    assert asked([read(0, 1)]) == {LOG, LOG.without_id}


@pytest.mark.parametrize(("begins", "left"), [(99, 1), (100, 0), (120, 0)])
def test_a_gap_is_explained_by_deleted_records_only(begins: int, left: int) -> None:
    gap = Gap(LOG, 90, 100)
    assert len(unexplained([gap], lambda _: {TopicPartition("orders", 3): begins})) == left


def test_brokers_are_asked_only_where_there_is_a_gap() -> None:
    assert unexplained([], lambda _: pytest.fail("asked")) == []
