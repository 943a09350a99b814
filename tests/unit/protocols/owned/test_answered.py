"""What became of a commit that was never answered, once the node has been read."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import (
    UNREAD,
    Known,
    OffsetRead,
    answered,
    fence_of,
    unanswered_of,
)
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.owned import replays

TP = TopicPartition("t", 3)
FENCE = NodeVersion(70, 4)
DOUBTFUL = Known(FENCE, done=15, value=10, doubt=10)


def offset(value: bytes, version: int, czxid: int = 70) -> OffsetRead:
    return OffsetRead(value, NodeVersion(czxid, version))


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        pytest.param(offset(b"0", 4), Known(FENCE, 15, 0), id="not executed"),
        pytest.param(offset(b"10", 5), Known(NodeVersion(70, 5), 15, 10), id="executed"),
        pytest.param(offset(b"0", 5), Known(FENCE, 15, 10), id="claimed by another"),
        pytest.param(offset(b"10", 6), Known(FENCE, 15, 10), id="moved twice"),
        pytest.param(offset(b"10", 5, 71), Known(FENCE, 15, 10), id="another node"),
    ],
)
def test_what_became_of_it(read: OffsetRead, expected: Known) -> None:
    assert answered(DOUBTFUL, read) == expected


def test_without_a_doubt_nothing_is_learned() -> None:
    known = Known(FENCE, 15, 10)
    assert answered(known, offset(b"10", 5)) is known


def test_what_a_plan_does_not_tell_is_read() -> None:
    known = Known(FENCE, 15, UNREAD)
    assert known.unsettled
    assert answered(known, offset(b"15", 4)) == Known(FENCE, 15, 15)
    assert answered(known, offset(b"14", 4)) == Known(FENCE, 15, 14)
    assert answered(known, offset(b"15", 5)) is known


def test_a_finished_plan_keeps_the_doubt_that_its_fence_names() -> None:
    """And takes no value for granted. Planned while no commit goes through, an empty range begins
    ahead of what the group's node holds.
    """

    def plan(start: int, until: int, fence: Fence) -> Plan:
        return Plan("zookeeper", "g", "m", (PlannedRange(TP, OffsetRange(start, until), 0, fence),))

    assert replays.finished(plan(10, 15, fence_of(FENCE, 10))) == {TP: Known(FENCE, 15, UNREAD, 10)}
    assert replays.finished(plan(10, 15, fence_of(FENCE))) == {TP: Known(FENCE, 15, UNREAD)}
    assert replays.finished(plan(10, 10, fence_of(FENCE, 10))) == {TP: Known(FENCE, 10, UNREAD, 10)}
    assert replays.fences(plan(10, 15, fence_of(FENCE, 10))) == {TP: Known(FENCE, 10, 10)}


def test_the_value_in_a_fence() -> None:
    assert unanswered_of(fence_of(FENCE, 10)) == 10
    assert unanswered_of(fence_of(FENCE)) is None
    assert unanswered_of(Fence("1a-0.7@5+1a-0.8@9")) is None
