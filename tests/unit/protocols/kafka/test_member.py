"""From which standing to which, by what the coordinator answers."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.consumer_protocol import NO_GENERATION, MemberAssignment
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.member import (
    FENCED,
    Joined,
    Member,
    Turn,
    ask_to_join,
    begin_join,
    heartbeat_answered,
    join_answered,
    membership_given_up,
    offsets_refused,
    sync_answered,
)

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
JOINED = Joined("m-1", 4, leads=True)
ASSIGNMENT = MemberAssignment(frozenset({P0, P1}), by_zkgroup=True)
NOTHING = MemberAssignment()


def stable() -> Member:
    begun = begin_join(Member(), frozenset()).member
    return sync_answered(join_answered(begun, codes.NONE, JOINED).member, 0, ASSIGNMENT).member


def rejoining() -> Member:
    return begin_join(ask_to_join(stable(), "the group rebalances"), frozenset({P0, P1})).member


def test_a_member_that_has_not_joined_leads_nothing() -> None:
    member = Member()
    assert not member.leads
    assert not member.leader_is_zkgroup
    assert not member.may_commit
    assert member.needs_join


def test_a_first_join_leads_to_an_assignment() -> None:
    asked = join_answered(
        begin_join(Member(), frozenset()).member,
        codes.MEMBER_ID_REQUIRED,
        Joined("m-1", NO_GENERATION, leads=False),
    )
    assert (asked.step, asked.member.id, asked.member.may_commit) == ("join", "m-1", False)
    joined = join_answered(asked.member, codes.NONE, JOINED)
    assert (joined.step, joined.member.phase) == ("sync", "rebalancing")
    synced = sync_answered(joined.member, codes.NONE, ASSIGNMENT)
    assert synced.step == "rest"
    assert (synced.member.phase, synced.member.generation) == ("stable", 4)
    assert synced.member.assigned == {P0, P1}
    assert synced.member.leads
    assert synced.member.leader_is_zkgroup
    assert synced.member.life == 0


def test_a_rebalance_is_noted_and_nothing_else() -> None:
    before = stable()
    turn = heartbeat_answered(before, codes.REBALANCE_IN_PROGRESS, 4)
    assert turn == Turn(replace(before, rejoin="the group rebalances"), "rest")
    assert turn.member.needs_join


@pytest.mark.parametrize("code", [codes.UNKNOWN_MEMBER_ID, codes.ILLEGAL_GENERATION])
def test_membership_is_lost_in_a_heartbeat(code: int) -> None:
    lost = heartbeat_answered(stable(), code, 4)
    assert lost.step == "rest"  # the next boundary joins, not the heartbeat
    assert (lost.member.phase, lost.member.life) == ("unjoined", 1)
    assert not lost.member.may_commit
    assert lost.member.assigned == frozenset()
    assert bool(lost.member.id) == (code == codes.ILLEGAL_GENERATION)


def test_an_answer_of_an_earlier_generation_says_nothing() -> None:
    assert heartbeat_answered(stable(), codes.UNKNOWN_MEMBER_ID, 3).member == stable()


def test_a_generation_that_ended_while_we_join_is_no_loss() -> None:
    before = rejoining()
    assert heartbeat_answered(before, codes.ILLEGAL_GENERATION, 4) == Turn(before, "rest")
    assert heartbeat_answered(before, codes.REBALANCE_IN_PROGRESS, 4) == Turn(before, "rest")


@pytest.mark.parametrize(("generation", "lives"), [(4, 0), (5, 0), (6, 1), (9, 1)])
def test_a_member_that_missed_a_generation_holds_nothing(generation: int, lives: int) -> None:
    """A static member keeps its place through generations that it does not learn of."""
    turn = join_answered(rejoining(), codes.NONE, replace(JOINED, generation=generation))
    assert turn.step == "sync"
    assert (turn.member.life, turn.member.generation) == (lives, generation)
    assert sync_answered(turn.member, codes.NONE, ASSIGNMENT).member.phase == "stable"


def test_a_join_that_listed_what_was_lost_is_followed_by_another() -> None:
    """Its leader withholds that from all others until it is given back."""
    missed = join_answered(rejoining(), codes.NONE, replace(JOINED, generation=6)).member
    assert missed.disowned == {P0, P1}
    left_one = MemberAssignment(frozenset({P0}), by_zkgroup=True)
    assert sync_answered(missed, codes.NONE, left_one).member.needs_join
    assert not sync_answered(missed, codes.NONE, ASSIGNMENT).member.needs_join


def test_a_member_unknown_to_the_coordinator_joins_on_with_nothing() -> None:
    turn = join_answered(rejoining(), codes.UNKNOWN_MEMBER_ID, None)
    assert turn.step == "join"
    assert (turn.member.phase, turn.member.id, turn.member.life) == ("rebalancing", "", 1)
    assert turn.member.owned == frozenset()


def test_a_heartbeat_that_finds_us_unknown_does_not_end_the_join_under_way() -> None:
    turn = heartbeat_answered(rejoining(), codes.UNKNOWN_MEMBER_ID, 4)
    assert (turn.member.phase, turn.member.life, turn.step) == ("rebalancing", 1, "rest")


def test_the_next_rebalance_before_our_assignment_keeps_what_we_own() -> None:
    joined = join_answered(rejoining(), codes.NONE, Joined("m-1", 5, leads=False)).member
    turn = sync_answered(joined, codes.REBALANCE_IN_PROGRESS, NOTHING)
    assert turn.step == "join"
    assert (turn.member.generation, turn.member.life) == (5, 0)
    assert turn.member.owned == {P0, P1}


@pytest.mark.parametrize(
    "code", [codes.NOT_COORDINATOR, codes.COORDINATOR_NOT_AVAILABLE, codes.SILENCE]
)
def test_a_coordinator_that_moved_is_looked_up(code: int) -> None:
    assert heartbeat_answered(stable(), code, 4) == Turn(stable(), "look up")
    assert join_answered(rejoining(), code, None) == Turn(rejoining(), "look up")
    assert sync_answered(rejoining(), code, NOTHING) == Turn(rejoining(), "look up")


def test_a_coordinator_that_loads_is_asked_again_later() -> None:
    code = codes.COORDINATOR_LOAD_IN_PROGRESS
    assert join_answered(rejoining(), code, None) == Turn(rejoining(), "back off")
    assert heartbeat_answered(stable(), code, 4) == Turn(stable(), "back off")


def test_a_static_member_whose_place_is_taken_is_fenced_for_good() -> None:
    before = replace(stable(), instance="one")
    turn = heartbeat_answered(before, codes.FENCED_INSTANCE_ID, 4)
    assert (turn.member.fatal, turn.member.life, turn.step) == (FENCED, 1, "rest")
    during = join_answered(replace(rejoining(), instance="one"), codes.FENCED_INSTANCE_ID, None)
    assert (during.member.fatal, during.step) == (FENCED, "rest")


def test_a_join_error_that_retries_cannot_correct_is_fatal() -> None:
    turn = join_answered(rejoining(), codes.INCONSISTENT_GROUP_PROTOCOL, None)
    assert "partition.assignment.strategy" in turn.member.fatal
    assert turn.step == "rest"


@pytest.mark.parametrize("generation", [3, 4])
def test_a_right_that_is_taken_away_ends_the_member_by_a_heartbeat(generation: int) -> None:
    turn = heartbeat_answered(stable(), codes.GROUP_AUTHORIZATION_FAILED, generation)
    assert "may not read as a member of the group" in turn.member.fatal
    assert "heartbeat was answered GROUP_AUTHORIZATION_FAILED (30)" in turn.member.fatal
    assert (turn.member.refusal, turn.step) == (codes.GROUP_AUTHORIZATION_FAILED, "rest")


def test_a_right_that_is_taken_away_ends_the_member_by_a_commit() -> None:
    code = codes.TOPIC_AUTHORIZATION_FAILED
    turn = heartbeat_answered(stable(), code, 4, "commit", of=" t-0")
    assert turn.member.fatal.startswith("this user may not read t-0 (commit was answered")
    assert (turn.member.refusal, turn.member.life) == (code, 0)


def test_a_right_that_is_taken_away_ends_the_member_by_a_read_of_offsets() -> None:
    refused = offsets_refused(stable(), codes.GROUP_AUTHORIZATION_FAILED, "")
    assert "offset fetch was answered" in refused.fatal
    assert offsets_refused(stable(), codes.NOT_COORDINATOR, "") == stable()


@pytest.mark.parametrize("code", [-1, 9999, codes.COORDINATOR_LOAD_IN_PROGRESS])
def test_a_code_that_says_nothing_of_the_member_leaves_it_as_it_is(code: int) -> None:
    assert heartbeat_answered(stable(), code, 4) == Turn(stable(), "back off")
    assert join_answered(rejoining(), code, None) == Turn(rejoining(), "back off")
    assert sync_answered(rejoining(), code, NOTHING) == Turn(rejoining(), "back off")


def test_one_join_is_in_flight_at_a_time() -> None:
    with pytest.raises(ValueError, match="rebalancing"):
        begin_join(rejoining(), frozenset())
    with pytest.raises(ValueError, match="stable"):
        begin_join(stable(), frozenset())


def test_giving_up_ends_the_life() -> None:
    given_up = membership_given_up(stable(), "silent")
    assert (given_up.phase, given_up.life, given_up.id) == ("unjoined", 1, "")
    assert membership_given_up(replace(stable(), instance="one"), "silent").id == "m-1"


CODES = [*codes.NAMES, 9999]
EVENTS = st.lists(
    st.tuples(st.sampled_from(["join", "sync", "heartbeat", "begin"]), st.sampled_from(CODES)),
    max_size=30,
)


@given(EVENTS)
def test_whatever_is_answered_the_standing_makes_sense(events: list[tuple[str, int]]) -> None:
    member = Member()
    generations = itertools.count(1)
    for kind, code in events:
        before = member
        if kind == "begin" and member.needs_join and not member.fatal:
            member = begin_join(member, member.assigned).member
        elif kind == "join" and member.phase == "rebalancing":
            member = join_answered(member, code, Joined("m", next(generations), False)).member
        elif kind == "sync" and member.phase == "rebalancing" and member.may_commit:
            member = sync_answered(member, code, ASSIGNMENT).member
        elif kind == "heartbeat":
            member = heartbeat_answered(member, code, member.generation).member
        assert member.life - before.life in (0, 1)
        if member.life > before.life:
            assert not member.owned
            assert not member.assigned
            assert not member.may_commit or member.generation > before.generation + 1
        if member.assigned:
            assert member.phase == "stable"
            assert member.may_commit
        if kind == "heartbeat" and before.phase == "stable":
            assert member.phase in ("stable", "unjoined")  # it never begins a join
