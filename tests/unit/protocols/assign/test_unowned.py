"""The transactions that keep two readers apart where no member owns a partition."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData
from pyspark_zkgroup.group.ownership import Known, OffsetRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import Fence, OffsetRange, ThreadId, TopicPartition
from pyspark_zkgroup.plan import PlannedRange
from pyspark_zkgroup.protocols.assign.rules import unowned

PATHS = GroupPaths("g")
TP = TopicPartition("t", 0)
OWNER, OFFSET = "/consumers/g/owners/t/0", "/consumers/g/offsets/t/0"
THREAD = ThreadId("g_me", 1)
ENTER, LEAVE = Create(OWNER, b"g_me-1", ephemeral=True), Delete(OWNER, 0)
PLANNED = PlannedRange(TP, OffsetRange(4, 9), 1, Fence("70.3"))


def test_taking_a_partition_moves_its_fence_and_needs_it_unowned() -> None:
    request = unowned.take(PATHS, TP, THREAD, OffsetRead(b"4", NodeVersion(70, 3)), 4)
    assert request == (ENTER, SetData(OFFSET, b"4", 3), LEAVE)


def test_a_commit_and_a_proof_need_the_fence_as_it_was_left() -> None:
    known = Known(NodeVersion(70, 3), done=9, value=4)
    assert unowned.commit(PATHS, TP, THREAD, known) == (ENTER, SetData(OFFSET, b"9", 3), LEAVE)
    assert unowned.prove(PATHS, TP, THREAD, known) == (ENTER, Check(OFFSET, 3), LEAVE)


def test_a_range_is_read_again_under_the_very_same_fence() -> None:
    offset = OffsetRead(b"4", NodeVersion(70, 3))
    assert unowned.replay(PATHS, PLANNED, THREAD, offset) == (
        True,
        (ENTER, Check(OFFSET, 3), LEAVE),
    )


@pytest.mark.parametrize("node", [NodeVersion(70, 4), NodeVersion(71, 3)])
def test_a_moved_fence_leaves_the_range_out_and_is_proved(node: NodeVersion) -> None:
    found = unowned.replay(PATHS, PLANNED, THREAD, OffsetRead(b"4", node))
    assert found == (False, (Check(OFFSET, node.version),))


def test_a_lost_offset_is_restored_where_the_range_begins_and_the_range_left_out() -> None:
    assert unowned.replay(PATHS, PLANNED, THREAD, None) == (False, (Create(OFFSET, b"4"),))
