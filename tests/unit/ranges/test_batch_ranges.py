from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.ranges.batch_ranges import BatchRanges, Committed, Logs, batch_ranges
from pyspark_zkgroup.ranges.endings import (
    TO_LATEST,
    EndingOffsets,
    EndingTimes,
    check_ending_partitions,
)
from pyspark_zkgroup.ranges.positions import (
    EARLIEST,
    LATEST,
    Starting,
    StartingOffsets,
    StartingTimes,
)

P0, P1 = (TopicPartition("orders", n) for n in range(2))
LOGS = Logs({P0: 5, P1: 0}, {P0: 10, P1: 20}, {P0: 10, P1: 20})
FROM_EARLIEST = StartingOffsets("earliest")
GROUP = GroupPaths("billing")


def at(*offsets: int) -> StartingOffsets:
    return StartingOffsets(None, tuple(zip((P0, P1), offsets, strict=True)))


def to(*offsets: int) -> EndingOffsets:
    return EndingOffsets(tuple(zip((P0, P1), offsets, strict=True)))


def committed(*anew: TopicPartition, **offsets: int) -> Committed:
    named = {TopicPartition("orders", int(name[1:])): value for name, value in offsets.items()}
    return Committed(GROUP, named, frozenset(anew))


def ranges(found: BatchRanges) -> dict[int, tuple[int, int]]:
    return {p.partition: (r.start, r.until) for p, r in found.ranges.items()}


def whole(found: BatchRanges) -> dict[int, tuple[int, int]]:
    assert found.losses == ()
    return ranges(found)


def test_without_options_it_reads_from_the_start_to_the_end() -> None:
    assert whole(batch_ranges(FROM_EARLIEST, TO_LATEST, None, LOGS)) == {0: (5, 10), 1: (0, 20)}


def test_the_groups_offset_decides_where_it_has_one() -> None:
    group = committed(p1=7)
    assert whole(batch_ranges(FROM_EARLIEST, TO_LATEST, group, LOGS)) == {0: (5, 10), 1: (7, 20)}
    assert whole(batch_ranges(at(6, 3), TO_LATEST, group, LOGS)) == {0: (6, 10), 1: (7, 20)}


def test_given_offsets() -> None:
    assert whole(batch_ranges(at(EARLIEST, 3), to(8, LATEST), None, LOGS)) == {
        0: (5, 8),
        1: (3, 20),
    }


def test_given_times() -> None:
    found = batch_ranges(
        StartingTimes(17), EndingTimes(18), None, LOGS, {P0: 6, P1: 4}, {P0: None, P1: 9}
    )
    assert whole(found) == {0: (6, 10), 1: (4, 9)}


def test_a_record_that_came_after_the_ends_were_asked_for_is_left_to_the_next_read() -> None:
    found = batch_ranges(
        StartingTimes(17), EndingTimes(18), None, LOGS, {P0: 12, P1: 20}, {P0: 13, P1: 21}
    )
    assert whole(found) == {0: (10, 10), 1: (20, 20)}


def test_a_group_beyond_the_given_end_has_nothing_to_read() -> None:
    assert whole(batch_ranges(FROM_EARLIEST, to(8, 8), committed(p1=9), LOGS)) == {
        0: (5, 8),
        1: (9, 9),
    }


def test_a_log_that_begins_behind_the_given_end_has_nothing_to_read() -> None:
    assert whole(batch_ranges(FROM_EARLIEST, to(3, 0), None, LOGS)) == {0: (5, 5), 1: (0, 0)}


@pytest.mark.parametrize(
    ("starting", "ending", "said"),
    [
        (
            at(11, 0),
            TO_LATEST,
            "Option 'startingOffsets' starts at 11 in orders-0, beyond its end 10. "
            "Set a start that is not after the end",
        ),
        (
            at(8, 0),
            to(7, LATEST),
            "Option 'startingOffsets' starts at 8 in orders-0, beyond its end 7 "
            "(option 'endingOffsets'). Set a start that is not after the end",
        ),
        (
            at(8, 0),
            EndingTimes(18),
            "Option 'startingOffsets' starts at 8 in orders-0, beyond its end 7 "
            "(option 'endingTimestamp'). Set a start that is not after the end",
        ),
        (
            StartingTimes(17),
            to(7, LATEST),
            "Option 'startingTimestamp' starts at 8 in orders-0, beyond its end 7 "
            "(option 'endingOffsets'). Set a start that is not after the end",
        ),
    ],
)
def test_a_given_start_behind_the_end(starting: Starting, ending: EndingOffsets, said: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch_ranges(starting, ending, None, LOGS, {P0: 8, P1: 0}, {P0: 7, P1: 9})
    assert f"{caught.value}" == f"[ZKG-001] {said}"


@pytest.mark.parametrize(
    ("group", "start", "said"),
    [
        (committed(p0=2), 5, "3 records of orders-0 were deleted before they were read"),
        (committed(p0=11), 5, "is 11, but the log ends at 10"),
        (committed(P0, p0=7), 5, "was recreated after the group's offset 7 was committed"),
    ],
)
def test_what_the_groups_offset_means_is_gone(group: Committed, start: int, said: str) -> None:
    found = batch_ranges(FROM_EARLIEST, TO_LATEST, group, LOGS)
    assert ranges(found) == {0: (start, 10), 1: (0, 20)}
    (loss,) = found.losses
    assert loss.partition == P0
    assert said in loss.what
    assert "the start of the log, 5" in loss.going_on
    assert "set /consumers/billing/offsets/orders/0" in loss.remedy


def test_an_offset_at_the_start_of_a_recreated_topic_loses_nothing() -> None:
    assert whole(batch_ranges(FROM_EARLIEST, TO_LATEST, committed(P0, p0=5), LOGS))[0] == (5, 10)


def test_under_read_committed_a_log_may_end_behind_what_can_be_read() -> None:
    logs = Logs(LOGS.starts, LOGS.latest, {P0: 14, P1: 20})
    assert whole(batch_ranges(FROM_EARLIEST, TO_LATEST, committed(p0=12), logs))[0] == (12, 12)


def test_given_offsets_that_are_not_there() -> None:
    found = batch_ranges(at(2, 0), to(12, LATEST), None, LOGS)
    assert ranges(found) == {0: (5, 10), 1: (0, 20)}
    assert [loss.what for loss in found.losses] == [
        "Option 'endingOffsets' ends at 12 in orders-0, which can be read up to 10 only",
        "Option 'startingOffsets' starts at 2 in orders-0, but its log now starts at 5: "
        "3 records are gone",
    ]


def test_ends_name_every_partition() -> None:
    check_ending_partitions(TO_LATEST, {"orders": (0, 1)})
    check_ending_partitions(EndingTimes(17), {"orders": (0, 1)})
    check_ending_partitions(to(1, 1), {"orders": (0, 1)})
    with pytest.raises(OptionError) as caught:
        check_ending_partitions(to(1, 1), {"orders": (0,)})
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'endingOffsets' names orders-1, which does not exist in the "
        "cluster. Name existing partitions"
    )
    with pytest.raises(OptionError) as caught:
        check_ending_partitions(to(1, 1), {"orders": (0, 1, 2)})
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'endingOffsets' does not name orders-2. "
        "Name every partition of the topics (-1 means latest)"
    )
    times = EndingTimes(None, ((P0, 1),))
    with pytest.raises(OptionError) as caught:
        check_ending_partitions(times, {"orders": (0, 1)})
    assert f"{caught.value}" == (
        "[ZKG-001] Option 'endingOffsetsByTimestamp' does not name orders-1. "
        "Name every partition of the topics, or set 'endingTimestamp' for all of them"
    )


def test_values_are_checked_when_they_are_built() -> None:
    with pytest.raises(ValueError, match="sorted"):
        EndingOffsets(((P1, 1), (P0, 1)))
    with pytest.raises(ValueError, match="below -1"):
        EndingOffsets(((P0, EARLIEST),))
    with pytest.raises(ValueError, match="different partitions"):
        Logs({P0: 0}, {P0: 1}, {})
    assert (
        OffsetRange(5, 5)
        == batch_ranges(FROM_EARLIEST, TO_LATEST, None, Logs({P0: 5}, {P0: 5}, {P0: 5})).ranges[P0]
    )
