from __future__ import annotations

from pyspark_zkgroup.group.ops import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    NodeVersion,
    SetData,
)
from pyspark_zkgroup.group.ownership import (
    Held,
    Known,
    OffsetRead,
    OwnerRead,
    fence_of,
    parse_offset,
    stands,
    version_of,
)
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.settle import (
    NotHeld,
    Resolution,
    Verdict,
    commit_held,
    resolve,
    settle_not_held,
)
from pyspark_zkgroup.model import Fence, ThreadId, TopicPartition

PATHS = GroupPaths("g")
TP = TopicPartition("t", 3)
OWNER, OFFSET = "/consumers/g/owners/t/3", "/consumers/g/offsets/t/3"
FENCE = NodeVersion(70, 4)
KNOWN = Known(FENCE, done=12, value=10)
MINE, OTHER = 1001, 2002


def owner(session: int, text: str = "g_me-0", version: int = 1) -> OwnerRead:
    return OwnerRead(text, session, version)


def offset(value: bytes, version: int = 4, czxid: int = 70) -> OffsetRead:
    return OffsetRead(value, NodeVersion(czxid, version))


def verdict(owner: OwnerRead | None, offset: OffsetRead | None, known: Known = KNOWN) -> Verdict:
    return resolution(owner, offset, known).verdict


def resolution(
    owner: OwnerRead | None, offset: OffsetRead | None, known: Known = KNOWN
) -> Resolution:
    return resolve(known, attempted=12, session=MINE, consumer="g_me", owner=owner, offset=offset)


def test_a_commit_checks_claim_and_registration_and_writes_under_the_fence() -> None:
    assert commit_held(PATHS, "g_me", TP, KNOWN, Held(0, 1)) == (
        Check(OWNER, 1),
        Check("/consumers/g/ids/g_me", ANY_VERSION),
        SetData(OFFSET, b"12", 4),
    )


def test_a_lost_reply_of_our_own_write_is_recognised() -> None:
    found = resolution(owner(MINE), offset(b"12", version=5))
    assert found == Resolution(Verdict.OURS, NodeVersion(70, 5), 1)


def test_a_request_that_never_arrived_is_sent_again() -> None:
    assert verdict(owner(MINE), offset(b"10")) is Verdict.AGAIN


def test_a_moved_fence_is_never_overwritten() -> None:
    # A JVM that wakes up after its expiry writes blindly, an operator resets, another member
    # claims.
    assert verdict(owner(MINE), offset(b"3", version=5)) is Verdict.DROP
    assert verdict(owner(OTHER, "g_b-0"), offset(b"10", version=5)) is Verdict.DROP
    assert verdict(owner(MINE), offset(b"12", version=6)) is Verdict.DROP


def test_a_claim_that_leaves_the_value_is_not_taken_for_our_write() -> None:
    idle = Known(FENCE, done=10, value=10)
    found = resolve(
        idle,
        attempted=10,
        session=MINE,
        consumer="g_me",
        owner=owner(MINE),
        offset=offset(b"10", version=5),
    )
    assert found.verdict is Verdict.DROP


def test_a_recreated_node_with_the_same_version_is_not_ours() -> None:
    assert verdict(owner(MINE), offset(b"10", version=4, czxid=99)) is Verdict.DROP


def test_an_owner_node_that_vanished_is_settled_and_not_dropped() -> None:
    assert verdict(None, offset(b"10")) is Verdict.UNOWNED
    gone_through = resolution(None, offset(b"12", version=5))
    assert gone_through == Resolution(Verdict.UNOWNED, NodeVersion(70, 5))


def test_our_own_id_in_other_hands_is_an_end() -> None:
    assert verdict(owner(OTHER, "g_me-1"), offset(b"10")) is Verdict.FENCED
    # "g_me-1" is another consumer whose thread 0 is "g_me-1-0".
    assert verdict(owner(OTHER, "g_me-1-0"), offset(b"10")) is Verdict.DROP


def test_a_lost_offset_node_is_reported() -> None:
    assert verdict(owner(MINE), None) is Verdict.MISSING


def settle(owner: OwnerRead | None, offset: OffsetRead | None) -> object:
    return settle_not_held(PATHS, TP, KNOWN, thread=ThreadId("g_me", 0), owner=owner, offset=offset)


def test_settling_proves_that_the_partition_has_no_owner() -> None:
    assert settle(None, offset(b"10")) == (
        Create(OWNER, b"g_me-0", ephemeral=True),
        SetData(OFFSET, b"12", 4),
        Delete(OWNER, 0),
    )


def test_settling_while_our_own_predecessor_is_registered() -> None:
    assert settle(owner(OTHER, "g_old-0"), offset(b"10")) == (
        Check(OWNER, 1),
        SetData(OFFSET, b"12", 4),
    )


def test_a_jvm_owner_is_waited_for_and_a_moved_fence_forgotten() -> None:
    assert settle(owner(OTHER, "g_jvm-0", version=0), offset(b"10")) is NotHeld.LATER
    assert settle(None, offset(b"10", version=5)) is NotHeld.FORGET
    assert settle(None, None) is NotHeld.REBUILD


def test_offsets_are_read_as_java_reads_longs() -> None:
    assert parse_offset(b"42") == 42
    assert parse_offset(b"-1") == -1
    assert parse_offset(b"+7") == 7
    assert parse_offset(b"9223372036854775807") == 2**63 - 1
    for text in (
        b"",
        b" 1",
        b"1 ",
        b"abc",
        b"1.0",
        b"9223372036854775808",
        "٣".encode(),
        b"\xff",
        b"1_0",
    ):
        assert parse_offset(text) is None, text


def test_a_fence_is_read_back_and_a_foreign_one_equals_nothing() -> None:
    assert version_of(fence_of(FENCE)) == FENCE
    assert version_of(Fence("generation 4")) is None
    assert not stands(Fence("generation 4"), OffsetRead(b"7", FENCE))


def test_a_fence_holds_if_only_our_unanswered_commit_has_moved_it() -> None:
    fence = fence_of(FENCE, 12)
    moved = NodeVersion(FENCE.czxid, FENCE.version + 1)
    twice = NodeVersion(FENCE.czxid, FENCE.version + 2)
    assert fence == f"{FENCE.czxid}.{FENCE.version}+12"
    assert version_of(fence) == FENCE
    assert stands(fence, OffsetRead(b"7", FENCE))
    assert stands(fence, OffsetRead(b"12", moved))
    assert not stands(fence_of(FENCE), OffsetRead(b"12", moved))
    # A claim leaves the value; a reset sets another; what came after either, or in another life.
    assert not stands(fence, OffsetRead(b"7", moved))
    assert not stands(fence, OffsetRead(b"x", moved))
    assert not stands(fence, OffsetRead(b"12", twice))
    assert not stands(fence, OffsetRead(b"12", NodeVersion(FENCE.czxid + 1, moved.version)))
