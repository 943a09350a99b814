"""What is asked of a member, how far it has come, and what may be deleted of one that is stuck."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.cli.asking import Outcome, outcome_of, status_of
from pyspark_zkgroup.group.ops import Check, Delete, NodeVersion
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.group.requests import (
    Request,
    decode_request,
    encode_request,
    in_force,
    is_over,
)
from pyspark_zkgroup.inspect.eviction import Belongings, NodeSeen, deletions, has_moved, why_not
from pyspark_zkgroup.inspect.member_nodes import MemberState
from pyspark_zkgroup.model import TopicPartition

ASKED = Request("drain", "ann@host", 1_000, 0x10)
DONE = ASKED.answered("left the group", 2_000)
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
PATHS = GroupPaths("g")
STUCK = Belongings(
    "g_a",
    PATHS.id("g_a"),
    NodeSeen(0x10, NodeVersion(5, 0)),
    jvm=False,
    owners={P0: NodeSeen(0x10, NodeVersion(6, 1)), P1: NodeSeen(0x10, NodeVersion(7, 2))},
    offsets={P0: NodeVersion(3, 41), P1: NodeVersion(4, 42)},
)


@pytest.mark.parametrize("request_", [ASKED, DONE, replace(ASKED, kind="stop")])
def test_a_request_is_read_as_it_was_written(request_: Request) -> None:
    assert decode_request(encode_request(request_)) == request_


WRITTEN = encode_request(replace(ASKED, at_ms=7))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{}", b"[]", b"\xff", b"null", WRITTEN.replace(b"drain", b"burn")),
        *(WRITTEN.replace(b'"at_ms": 7', b'"at_ms": ' + at) for at in (b"1e999", b"NaN", b"-1")),
    ],
)
def test_garbage_asks_nothing(data: bytes) -> None:
    assert decode_request(data) is None


def test_a_request_is_for_the_process_that_had_the_session() -> None:
    assert in_force(ASKED, {0x10, 0x20}) is ASKED
    assert in_force(ASKED, {0x20}) is None
    assert in_force(None, {0x10}) is None


def test_a_request_goes_when_its_process_is_surely_over() -> None:
    late = 2_000 + 3_600_001
    assert is_over(DONE, registered=False, resting=False, now_ms=late)
    assert not is_over(DONE, registered=True, resting=False, now_ms=late)
    assert not is_over(DONE, registered=False, resting=True, now_ms=late)
    assert not is_over(DONE, registered=False, resting=False, now_ms=late - 1)
    assert not is_over(ASKED, registered=False, resting=False, now_ms=late)


@pytest.mark.parametrize(
    ("kind", "at", "answered", "unseen_s", "state"),
    [
        ("drain", MemberState(0x10, 0, ASKED, 0), False, 0.0, "pending"),
        ("drain", MemberState(0, 0, ASKED, 0), False, 1.0, "pending"),  # between two sessions
        ("drain", MemberState(0, 0, ASKED, 0), False, 11.0, "gone"),
        ("drain", MemberState(0, 0x11, DONE, 1), True, 0.0, "drained"),
        ("stop", MemberState(0, 0x11, DONE, 1), True, 0.0, "pending"),
        ("stop", MemberState(0, 0, DONE, 1), True, 1.0, "ended"),
        ("drain", MemberState(0x10, 0, None, -1), False, 0.0, "withdrawn"),
    ],
)
def test_how_far_a_member_has_come(
    kind: str, at: MemberState, answered: bool, unseen_s: float, state: str
) -> None:
    assert outcome_of(kind, "g_a", at, answered, unseen_s).state == state  # type: ignore[arg-type]


def test_one_that_was_outside_before_it_was_asked_to_stop_has_ended_as_asked() -> None:
    """It has nothing to answer: its query ends, and its session with it."""
    asked = replace(ASKED, kind="stop")
    for at, unseen_s, state in (
        (MemberState(0, 0x11, asked, 1), 0.0, "pending"),
        (MemberState(0, 0, asked, 1), 1.0, "pending"),
        (MemberState(0, 0, asked, 1), 11.0, "ended"),
    ):
        assert outcome_of("stop", "g_a", at, False, unseen_s, rested=True).state == state


def test_the_status_is_pending_as_long_as_one_is() -> None:
    drained, pending = Outcome("a", "drained", ""), Outcome("b", "pending", "")
    assert (status_of([]), status_of([drained]), status_of([drained, pending])) == (0, 0, 4)


def test_each_deletion_of_an_owner_checks_that_its_offset_has_not_moved() -> None:
    assert [transaction for _, transaction in deletions(STUCK, PATHS)] == [
        (Delete(PATHS.id("g_a"), 0),),
        (Check(PATHS.offset(P0), 41), Delete(PATHS.owner(P0), 1)),
        (Check(PATHS.offset(P1), 42), Delete(PATHS.owner(P1), 2)),
    ]


def test_a_member_that_commits_or_releases_counts_as_working() -> None:
    assert has_moved(STUCK, STUCK) is None
    committed = replace(STUCK, offsets={**STUCK.offsets, P1: NodeVersion(4, 43)})
    assert has_moved(STUCK, committed) == P1
    assert has_moved(STUCK, replace(STUCK, owners={P1: STUCK.owners[P1]})) == P0
    taken = {**STUCK.owners, P0: NodeSeen(0x99, NodeVersion(9, 1))}
    assert has_moved(STUCK, replace(STUCK, owners=taken)) == P0


def test_only_what_fences_protect_may_be_evicted() -> None:
    assert why_not(STUCK) == ""
    assert "0x10" in why_not(replace(STUCK, jvm=True))
    unregistered = replace(STUCK, registration=None)
    assert why_not(unregistered) == ""
    jvm_claim = {P0: NodeSeen(0x10, NodeVersion(6, 0))}
    assert why_not(replace(unregistered, owners=jvm_claim)) != ""
    by_hand = {P0: NodeSeen(0, NodeVersion(6, 0))}
    assert why_not(replace(unregistered, owners=by_hand)) == ""
