from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.ranges.positions import (
    EARLIEST,
    LATEST,
    StartingOffsets,
    check_partitions,
    first_positions,
    skipped,
)

P0, P1, P2 = (TopicPartition("orders", n) for n in range(3))
FROM = {P0: 5, P1: 0, P2: 7}
TO = {P0: 10, P1: 0, P2: 9}


def at(*partitions: tuple[TopicPartition, int]) -> StartingOffsets:
    return StartingOffsets(None, partitions)


def test_a_word_holds_for_every_partition() -> None:
    assert first_positions(StartingOffsets("earliest"), False, FROM, TO) == FROM
    assert first_positions(StartingOffsets("latest"), False, FROM, TO) == TO


def test_offsets_hold_for_their_partitions() -> None:
    starting = at((P0, 6), (P1, LATEST), (P2, EARLIEST))
    assert first_positions(starting, False, FROM, TO) == {P0: 6, P1: 0, P2: 7}


def test_a_default_holds_for_what_is_not_named() -> None:
    starting = StartingOffsets("latest", ((P0, EARLIEST),))
    assert first_positions(starting, False, FROM, TO) == {P0: 5, P1: 0, P2: 9}


@pytest.mark.parametrize(
    "starting", [StartingOffsets("latest"), StartingOffsets("earliest"), at((P0, 10))]
)
def test_what_appears_after_the_first_plan_starts_at_earliest(starting: StartingOffsets) -> None:
    assert first_positions(starting, True, FROM, TO) == FROM


def test_both_ends_of_a_partition_may_be_named() -> None:
    assert first_positions(at((P0, 5)), False, {P0: 5}, {P0: 10}) == {P0: 5}
    assert first_positions(at((P0, 10)), False, {P0: 5}, {P0: 10}) == {P0: 10}


@pytest.mark.parametrize(
    ("offset", "message"),
    [
        (
            11,
            (
                "[ZKG-001] Option 'startingOffsets' sets offset 11 for orders-0, which is "
                "beyond its "
                "end. Set an offset from 5 to 10, or -2 for earliest, or -1 for latest"
            ),
        ),
        (
            4,
            (
                "[ZKG-001] Option 'startingOffsets' sets offset 4 for orders-0, which is "
                "below its "
                "start, no longer kept by the broker. Set an offset from 5 to 10, or -2 "
                "for earliest, "
                "or -1 for latest"
            ),
        ),
    ],
)
def test_an_offset_outside_of_the_partition(offset: int, message: str) -> None:
    with pytest.raises(OptionError) as caught:
        first_positions(at((P0, offset)), False, {P0: 5}, {P0: 10})
    assert f"{caught.value}" == message


def test_offsets_must_name_every_partition() -> None:
    with pytest.raises(OptionError) as caught:
        first_positions(at((P0, 5)), False, FROM, TO)
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'startingOffsets' contains offsets but does not name orders-1, orders-2. "
        "Name every partition of the topics (-2 means earliest, -1 latest)"
    )


def test_a_long_list_of_partitions_is_cut() -> None:
    many = {TopicPartition("orders", n): 0 for n in range(30)}
    with pytest.raises(OptionError, match=r"orders-10 and 19 more\. Name every"):
        first_positions(at((P0, 0)), False, many, many)


def test_partitions_are_checked_before_anything_is_written() -> None:
    check_partitions(at((P0, 0), (P1, 0)), {"orders": (0, 1)})
    check_partitions(StartingOffsets("latest"), {"orders": (0, 1)})
    # A topic that is not there yet is waited for.
    check_partitions(at((P0, 0)), {})
    with pytest.raises(OptionError) as caught:
        check_partitions(at((P0, 0), (P1, 0), (P2, 0)), {"orders": (0, 1)})
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'startingOffsets' names orders-2, which does not exist in the "
        "cluster. Name existing partitions, or add partitions to the topic first"
    )
    with pytest.raises(OptionError, match="does not name orders-1"):
        check_partitions(at((P0, 0)), {"orders": (0, 1)})


def test_earliest_and_latest_must_be_of_the_same_partitions() -> None:
    with pytest.raises(ValueError, match="different partitions"):
        first_positions(StartingOffsets("latest"), False, {P0: 0}, {})


@pytest.mark.parametrize(
    ("partitions", "why"),
    [
        ((), "where to start"),
        (((P1, 0), (P0, 0)), "sorted"),
        (((P0, 0), (P0, 1)), "once"),
        (((P0, -3),), "below -2"),
    ],
)
def test_values_are_checked_when_they_are_built(
    partitions: tuple[tuple[TopicPartition, int], ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        StartingOffsets(None, partitions)


def test_an_unknown_word_is_no_starting_offset() -> None:
    with pytest.raises(ValueError, match="not a starting offset: 'smallest'"):
        StartingOffsets("smallest")  # type: ignore[arg-type]


def test_latest_skips_the_records_between_the_start_of_the_log_and_its_end() -> None:
    latest = StartingOffsets("latest")
    assert skipped(latest, first_positions(latest, False, FROM, TO), FROM) == {P0: 5, P2: 2}
    assert skipped(latest, first_positions(latest, True, FROM, TO), FROM) == {}
    earliest = StartingOffsets("earliest", ((P0, LATEST),))
    assert skipped(earliest, first_positions(earliest, False, FROM, TO), FROM) == {P0: 5}


def test_a_position_that_a_user_names_skips_on_purpose() -> None:
    named = StartingOffsets("earliest", ((P0, 7),))
    assert skipped(named, first_positions(named, False, FROM, TO), FROM) == {}
