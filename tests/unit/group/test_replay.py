"""One test for each way a range of an unfinished batch can be found after a crash."""

from __future__ import annotations

from dataclasses import replace

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, SetData
from pyspark_zkgroup.group.ownership import Held, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.replay import Include, LeaveOut, WaitFor, decide
from pyspark_zkgroup.model import Fence, OffsetRange, ThreadId, TopicPartition
from pyspark_zkgroup.plan import PlannedRange

PATHS = GroupPaths("g")
TP = TopicPartition("t", 0)
OWNER, OFFSET = "/consumers/g/owners/t/0", "/consumers/g/offsets/t/0"
PLANNED = PlannedRange(TP, OffsetRange(4, 9), 1, Fence("70.3"))
UNMOVED = OffsetRead(b"4", NodeVersion(70, 3))
MINE, OTHER = 1, 2


def answer(
    owner: OwnerRead | None,
    offset: OffsetRead | None = UNMOVED,
    *,
    static: bool = False,
    waited_out: bool = False,
    planned: PlannedRange = PLANNED,
) -> object:
    return decide(
        PATHS,
        planned,
        session=MINE,
        thread=ThreadId("g_me", 1),
        static=static,
        owner=owner,
        offset=offset,
        waited_out=waited_out,
    )


CLAIM = (
    Create(OWNER, b"g_me-1", ephemeral=True),
    SetData(OWNER, b"g_me-1", 0),
    Check(OFFSET, 3),
)


def test_a_range_that_no_member_took_is_read_again_under_the_same_fence() -> None:
    assert answer(None) == Include(Held(1, 1), CLAIM)


def test_a_moved_fence_excludes_the_range_whichever_member_owns_it() -> None:
    moved = OffsetRead(b"4", NodeVersion(70, 4))
    for owner in (None, OwnerRead("g_b-0", OTHER, 1), OwnerRead("g_j-0", OTHER, 0)):
        found = answer(owner, moved)
        assert isinstance(found, LeaveOut)
        assert found.request == (Check(OFFSET, 4),)


def test_a_fence_that_our_own_unanswered_commit_has_moved_still_holds() -> None:
    planned = replace(PLANNED, fence=Fence("70.2+4"))
    assert answer(None, planned=planned) == Include(Held(1, 1), CLAIM)
    sent_in_vain = OffsetRead(b"1", NodeVersion(70, 2))
    found = answer(None, sent_in_vain, planned=planned)
    assert isinstance(found, Include)
    assert found.request[-1] == Check(OFFSET, 2)
    for claimed in (OffsetRead(b"1", NodeVersion(70, 3)), OffsetRead(b"4", NodeVersion(70, 4))):
        left_out = answer(None, claimed, planned=planned)
        assert isinstance(left_out, LeaveOut)
        assert left_out.request == (Check(OFFSET, claimed.node.version),)


def test_a_group_that_was_deleted_and_recreated_has_another_fence() -> None:
    found = answer(None, OffsetRead(b"0", NodeVersion(99, 3)))
    assert isinstance(found, LeaveOut)


def test_our_own_node_needs_no_claim() -> None:
    assert answer(OwnerRead("g_me-1", MINE, 2)) == Include(Held(1, 2))


def test_our_predecessor_is_waited_for_then_moved_away_from() -> None:
    predecessor = OwnerRead("g_old-1", OTHER, 1)
    assert answer(predecessor) == WaitFor(predecessor)
    found = answer(predecessor, waited_out=True)
    assert isinstance(found, LeaveOut)
    assert found.request == (SetData(OFFSET, b"4", 3),)


def test_a_static_member_takes_its_predecessors_node_over_at_once() -> None:
    create, rewrite, check = CLAIM
    found = answer(OwnerRead("g_me-1", OTHER, 1), static=True)
    again = SetData(OWNER, b"g_me-1", 1)
    assert found == Include(Held(1, 2), (Delete(OWNER, 1), create, rewrite, again, check))
    foreign = OwnerRead("g_old-1", OTHER, 1)
    assert answer(foreign, static=True) == WaitFor(foreign)


def test_a_jvms_claim_leaves_the_fence_so_it_is_moved_before_the_range_is_left_out() -> None:
    found = answer(OwnerRead("g_jvm-0", OTHER, 0))
    assert isinstance(found, LeaveOut)
    assert found.request == (SetData(OFFSET, b"4", 3),)


def test_a_lost_offset_node_is_rebuilt_at_the_ranges_start() -> None:
    found = answer(None, None)
    assert isinstance(found, LeaveOut)
    assert found.request == (Create(OFFSET, b"4"),)
