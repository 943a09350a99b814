"""Starting positions by time. What Spark's own suites ask of them, in pure form."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.ranges.positions import StartingTimes, check_partitions, first_positions

P0, P1, P2 = (TopicPartition("orders", n) for n in range(3))
FROM = {P0: 5, P1: 0, P2: 7}
TO = {P0: 10, P1: 0, P2: 9}


def test_one_time_for_all_or_one_for_each() -> None:
    assert StartingTimes(17).of([P0, P1]) == {P0: 17, P1: 17}
    assert StartingTimes(None, ((P0, 1), (P1, 2))).of([P1, P2]) == {P1: 2}


def test_the_first_record_of_the_time_or_later() -> None:
    found = {P0: 6, P1: None, P2: 9}
    starting = StartingTimes(17, unmatched="latest")
    # A record may have come since the ends were asked for, and the log's start may have moved on.
    assert first_positions(starting, False, FROM, TO, found) == {P0: 6, P1: 0, P2: 9}
    assert first_positions(starting, False, FROM, TO, {**found, P0: 4, P2: 12}) == {
        P0: 5,
        P1: 0,
        P2: 12,
    }


def test_what_appears_after_the_first_plan_starts_at_earliest() -> None:
    assert first_positions(StartingTimes(17), True, FROM, TO) == FROM


@pytest.mark.parametrize(
    ("starting", "option"),
    [
        (StartingTimes(17), "startingTimestamp"),
        (StartingTimes(None, ((P0, 16), (P1, 17), (P2, 18))), "startingOffsetsByTimestamp"),
    ],
)
def test_a_time_that_no_record_has_is_an_error(starting: StartingTimes, option: str) -> None:
    with pytest.raises(OptionError) as caught:
        first_positions(starting, False, FROM, TO, {P0: 6, P1: None, P2: 7})
    assert f"{caught.value}" == (
        f"[ZKG-001] Option '{option}': no record has this timestamp or a later one: 17 in "
        "orders-1. Set an earlier timestamp (milliseconds since 1970), or set "
        "startingOffsetsByTimestampStrategy=latest to start at the end of the log there"
    )


def test_many_such_partitions_are_counted() -> None:
    many = {TopicPartition("orders", n): 0 for n in range(30)}
    with pytest.raises(OptionError, match="in orders-9 and 20 more partitions"):
        first_positions(StartingTimes(17), False, many, many, dict.fromkeys(many))


def test_times_must_name_every_partition() -> None:
    starting = StartingTimes(None, ((P0, 16),))
    with pytest.raises(OptionError, match="contains timestamps but does not name"):
        first_positions(starting, False, FROM, TO, {P0: 6})
    with pytest.raises(OptionError) as caught:
        check_partitions(starting, {"orders": (0, 1)})
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'startingOffsetsByTimestamp' contains timestamps but does not name "
        "orders-1. Name every partition of the topics, or set 'startingTimestamp' for all of them"
    )
    with pytest.raises(OptionError, match="names orders-0, which does not exist in the cluster"):
        check_partitions(starting, {"orders": ()})
    check_partitions(StartingTimes(17), {"orders": (0, 1)})


@pytest.mark.parametrize(
    ("every", "partitions", "why"),
    [
        (None, (), "one for all, or one for each"),
        (1, ((P0, 1),), "one for all, or one for each"),
        (-1, (), "below 0"),
        (None, ((P0, -1),), "below 0"),
        (None, ((P1, 0), (P0, 0)), "sorted"),
        (None, ((P0, 0), (P0, 1)), "once"),
    ],
)
def test_values_are_checked_when_they_are_built(
    every: int | None, partitions: tuple[tuple[TopicPartition, int], ...], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        StartingTimes(every, partitions)


def test_times_must_have_been_looked_up() -> None:
    with pytest.raises(ValueError, match="not looked up"):
        first_positions(StartingTimes(17), False, FROM, TO, {P0: 6})
