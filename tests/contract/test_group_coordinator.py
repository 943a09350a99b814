"""A group's coordinator: the rules that members of `protocol=kafka` rely on, one by one, on real
brokers and on the fake of the simulation.

Kafka 4 has a new coordinator for the same requests. Kafka 3's is tested in the long runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.contract.group_coordinators import (
    ANOTHER,
    KINDS,
    OFFER,
    OWN_KINDS,
    PATIENCE_S,
    SESSION_S_MIN,
    Client,
    Coordinator,
    Offer,
)
from tests.harness.waiting import wait_until

SHORT = replace(OFFER, session_s=SESSION_S_MIN)
HASTY = replace(OFFER, rebalance_s=3.0)


@pytest.fixture(params=KINDS)
def coordinator(request: pytest.FixtureRequest) -> Iterator[Coordinator]:
    made: Coordinator = request.param(request)
    yield made
    made.close()


@pytest.fixture(params=OWN_KINDS)
def movable(request: pytest.FixtureRequest) -> Iterator[Coordinator]:
    made: Coordinator = request.param(request)
    yield made
    made.close()


def lone(coordinator: Coordinator, offer: Offer = OFFER, instance: str | None = None) -> Client:
    """Return the only member, with its share."""
    one = coordinator.client(instance)
    assert one.enter(offer).generation == 1
    assert one.sync({one.who.member: b"all"}) == (codes.NONE, b"all")
    return one


def two_of(coordinator: Coordinator, second: Offer = OFFER) -> tuple[Client, Client]:
    """Return two members with their shares; the first one leads."""
    one, two = lone(coordinator), coordinator.client()
    two.is_named(second)
    two.sends_join(second)
    told_to_join(one)
    assert (one.join().leads, two.joined().leads) == (True, False)
    assert one.sync({one.who.member: b"1", two.who.member: b"2"}) == (codes.NONE, b"1")
    assert two.sync() == (codes.NONE, b"2")
    return one, two


def until(coordinator: Coordinator, what: str, is_so: Callable[[], bool]) -> None:
    wait_until(is_so, PATIENCE_S, what, clock=coordinator.clock)


def told_to_join(member: Client) -> None:
    """The member learns of others by its heartbeats."""

    def told() -> bool:
        return member.heartbeat() == codes.REBALANCE_IN_PROGRESS

    wait_until(told, PATIENCE_S, "a rebalance", clock=member.clock)


def beat_for(coordinator: Coordinator, seconds: float, *members: Client) -> set[int]:
    """Send heartbeats and return their answers."""
    ends = coordinator.clock.monotonic() + seconds
    heard: set[int] = set()

    def is_over() -> bool:
        heard.update(member.heartbeat() for member in members)
        return coordinator.clock.monotonic() > ends

    until(coordinator, f"{seconds} s to pass", is_over)
    return heard


def partition(coordinator: Coordinator) -> TopicPartition:
    return TopicPartition(coordinator.topic, 0)


# -- joining


def test_a_new_member_is_given_its_id_first(coordinator: Coordinator) -> None:
    one = coordinator.client()
    first = one.join()
    assert (first.code, bool(first.member)) == (codes.MEMBER_ID_REQUIRED, True)
    joined = one.join()
    assert (joined.code, joined.generation, joined.leads) == (codes.NONE, 1, True)
    assert joined.member == first.member
    assert [m.id for m in joined.members] == [one.who.member]


def test_a_join_waits_for_the_others_who_hear_of_it_by_heartbeats(
    coordinator: Coordinator,
) -> None:
    one, two = lone(coordinator), coordinator.client()
    two.is_named()
    two.sends_join()
    told_to_join(one)
    assert two.waits()
    assert one.commit(partition(coordinator), 5) == codes.NONE
    again = one.join(ANOTHER)
    assert (again.generation, again.leads, len(again.members)) == (2, True, 2)
    assert {m.id: m.subscription for m in again.members} == {
        one.who.member: ANOTHER.subscription,
        two.who.member: OFFER.subscription,
    }
    told = two.joined()
    assert (told.generation, told.leads, told.members) == (2, False, ())
    # Notified, and not yet assigned.
    assert two.commit(partition(coordinator), 7) == codes.REBALANCE_IN_PROGRESS
    assert two.committed(partition(coordinator)) == 5


def test_a_member_that_does_not_join_in_time_is_removed(coordinator: Coordinator) -> None:
    one, two = lone(coordinator, HASTY), coordinator.client()
    two.is_named(HASTY)
    two.sends_join(HASTY)
    told_to_join(one)
    heard = set()

    def is_answered() -> bool:
        heard.add(one.heartbeat())
        return not two.waits()

    until(coordinator, "the time to be over", is_answered)
    assert heard <= {codes.REBALANCE_IN_PROGRESS, codes.UNKNOWN_MEMBER_ID}
    assert (two.joined().leads, two.who.generation) == (True, 2)
    assert one.heartbeat() == codes.UNKNOWN_MEMBER_ID
    assert one.commit(partition(coordinator), 5) == codes.UNKNOWN_MEMBER_ID


def test_an_id_that_was_given_out_is_waited_for_as_long_as_a_session(
    coordinator: Coordinator,
) -> None:
    one, two = lone(coordinator), coordinator.client()
    two.is_named(SHORT)
    one.sends_join()
    assert one.waits()
    assert (one.joined().generation, one.who.generation) == (2, 2)
    assert two.join(SHORT).code == codes.UNKNOWN_MEMBER_ID


def test_an_id_that_is_given_back_is_not_waited_for(coordinator: Coordinator) -> None:
    one, two = lone(coordinator), coordinator.client()
    two.is_named()
    one.sends_join()
    assert one.waits()
    two.leave()
    assert one.joined().generation == 2


def test_no_session_ends_while_a_join_waits(coordinator: Coordinator) -> None:
    one, two = two_of(coordinator, SHORT)
    two.sends_join(replace(ANOTHER, session_s=SESSION_S_MIN))
    told_to_join(one)
    beat_for(coordinator, 1.5 * SESSION_S_MIN, one)
    assert len(one.join().members) == 2
    assert (two.joined().code, two.who.generation) == (codes.NONE, 3)


def test_only_its_leader_makes_a_generation_by_saying_nothing_new(
    coordinator: Coordinator,
) -> None:
    one, two = two_of(coordinator)
    again = two.join()
    assert (again.code, again.generation, again.leads) == (codes.NONE, 2, False)
    assert two.sync() == (codes.NONE, b"2")
    assert one.heartbeat() == codes.NONE
    one.sends_join()
    told_to_join(two)
    assert (two.join().generation, one.joined().generation) == (3, 3)


def test_another_protocol_is_refused(coordinator: Coordinator) -> None:
    one, two = lone(coordinator), coordinator.client()
    other = replace(OFFER, protocol="roundrobin")
    assert two.join(other).code == codes.INCONSISTENT_GROUP_PROTOCOL
    assert one.heartbeat() == codes.NONE


# -- shares


def test_shares_wait_for_the_leader(coordinator: Coordinator) -> None:
    one, two = lone(coordinator), coordinator.client()
    two.is_named()
    two.sends_join()
    told_to_join(one)
    one.join()
    two.joined()
    two.sends_sync()
    assert two.waits()
    assert one.heartbeat() == codes.NONE
    assert one.sync({one.who.member: b"1", two.who.member: b"2"}) == (codes.NONE, b"1")
    assert two.synced() == (codes.NONE, b"2")
    assert one.heartbeat() == two.heartbeat() == codes.NONE


def test_a_member_that_does_not_ask_for_its_share_in_time_is_removed(
    coordinator: Coordinator,
) -> None:
    one, two = lone(coordinator, HASTY), coordinator.client()
    two.is_named(HASTY)
    two.sends_join(HASTY)
    told_to_join(one)
    one.join(HASTY)
    two.joined()
    assert one.sync({one.who.member: b"1", two.who.member: b"2"}) == (codes.NONE, b"1")
    assert two.heartbeat() == codes.NONE
    told_to_join(one)
    assert two.heartbeat() == codes.UNKNOWN_MEMBER_ID


def test_no_share_is_given_while_members_join(coordinator: Coordinator) -> None:
    one, two = two_of(coordinator)
    two.sends_join(ANOTHER)
    told_to_join(one)
    assert one.sync({one.who.member: b"1"})[0] == codes.REBALANCE_IN_PROGRESS
    one.join()
    assert two.joined().generation == 3
    two.sends_sync()
    assert two.waits()
    one.sends_join(ANOTHER)
    # A member that waits for a share gets an answer.
    assert two.synced()[0] == codes.REBALANCE_IN_PROGRESS


def test_another_generation_is_refused_whatever_it_asks(coordinator: Coordinator) -> None:
    one = lone(coordinator)
    one.who = replace(one.who, generation=2)
    assert one.heartbeat() == codes.ILLEGAL_GENERATION
    assert one.sync()[0] == codes.ILLEGAL_GENERATION
    assert one.commit(partition(coordinator), 5) == codes.ILLEGAL_GENERATION
    assert one.committed(partition(coordinator)) is None


# -- leaving


def test_a_session_ends_in_silence(coordinator: Coordinator) -> None:
    one, two = two_of(coordinator, SHORT)
    assert beat_for(coordinator, 1.5 * SESSION_S_MIN, one, two) == {codes.NONE}
    told_to_join(one)
    assert (one.join().generation, one.who.generation) == (3, 3)
    assert two.heartbeat() == codes.UNKNOWN_MEMBER_ID


def test_who_leaves_is_not_waited_for(coordinator: Coordinator) -> None:
    one, two = two_of(coordinator)
    one.leave()
    assert one.heartbeat() == codes.UNKNOWN_MEMBER_ID
    assert two.heartbeat() == codes.REBALANCE_IN_PROGRESS
    joined = two.join()
    assert (joined.generation, joined.leads, len(joined.members)) == (3, True, 1)


# -- static members


@pytest.mark.parametrize("offer", [OFFER, ANOTHER], ids=["as before", "another subscription"])
def test_a_static_member_is_given_its_predecessors_share_and_fences_it(
    coordinator: Coordinator, offer: Offer
) -> None:
    old = lone(coordinator, instance="i")
    new = coordinator.client("i")
    joined = new.join(offer)
    assert (joined.code, joined.generation, joined.skip) == (codes.NONE, 1, True)
    assert new.who.member != old.who.member
    assert new.sync() == (codes.NONE, b"all")
    assert old.heartbeat() == codes.FENCED_INSTANCE_ID
    assert old.commit(partition(coordinator), 3) == codes.FENCED_INSTANCE_ID
    assert old.join().code == codes.FENCED_INSTANCE_ID
    assert new.commit(partition(coordinator), 3) == codes.NONE


def test_a_static_member_that_does_not_join_in_time_keeps_its_place(
    coordinator: Coordinator,
) -> None:
    one = lone(coordinator, HASTY, "i")
    two = coordinator.client()
    two.is_named(HASTY)
    two.sends_join(HASTY)
    told_to_join(one)
    joined = two.joined()
    assert (joined.generation, joined.leads, len(joined.members)) == (2, True, 2)
    assert one.heartbeat() == codes.ILLEGAL_GENERATION
    assert two.sync({one.who.member: b"1", two.who.member: b"2"}) == (codes.NONE, b"2")
    again = one.join(HASTY)
    assert (again.code, again.generation, again.leads) == (codes.NONE, 2, False)
    assert one.sync() == (codes.NONE, b"1")


# -- offsets


def test_a_tool_commits_only_into_a_group_without_members(coordinator: Coordinator) -> None:
    one, tool = lone(coordinator), coordinator.client()
    assert tool.commit(partition(coordinator), 3) == codes.UNKNOWN_MEMBER_ID
    assert one.commit(partition(coordinator), 5) == codes.NONE
    one.leave()
    assert tool.commit(partition(coordinator), 3) == codes.NONE
    assert tool.committed(partition(coordinator)) == 3


def test_a_commit_is_refused_where_there_is_no_partition(coordinator: Coordinator) -> None:
    one = lone(coordinator)
    nowhere = TopicPartition(coordinator.topic, 2)
    assert one.commit(nowhere, 3) == codes.UNKNOWN_TOPIC_OR_PARTITION
    assert one.committed(nowhere) is None


def test_each_partition_of_a_commit_has_its_own_answer(coordinator: Coordinator) -> None:
    """Errors of a partition come first, and the coordinator is asked about the rest."""
    one, here = lone(coordinator), partition(coordinator)
    nowhere = TopicPartition(coordinator.topic, 2)
    both = {here: 5, nowhere: 3}
    unknown = codes.UNKNOWN_TOPIC_OR_PARTITION
    assert one.commits(both) == {here: codes.NONE, nowhere: unknown}
    assert one.committed(here) == 5
    one.who = replace(one.who, generation=2)
    assert one.commits(both) == {here: codes.ILLEGAL_GENERATION, nowhere: unknown}
    one.who = replace(one.who, member="absent")
    assert one.commits(both) == {here: codes.UNKNOWN_MEMBER_ID, nowhere: unknown}
    assert one.commits({nowhere: 3}) == {nowhere: unknown}
    assert one.committed(here) == 5


def test_a_commit_of_what_is_nowhere_renews_no_session(coordinator: Coordinator) -> None:
    one = lone(coordinator, SHORT)
    nowhere = TopicPartition(coordinator.topic, 2)
    ends = coordinator.clock.monotonic() + 2 * SESSION_S_MIN

    def is_over() -> bool:
        assert one.commit(nowhere, 3) == codes.UNKNOWN_TOPIC_OR_PARTITION
        return coordinator.clock.monotonic() > ends

    until(coordinator, "two sessions to pass", is_over)
    assert one.heartbeat() == codes.UNKNOWN_MEMBER_ID


# -- another broker


def test_a_coordinator_that_moves_knows_what_is_written(movable: Coordinator) -> None:
    one, two = lone(movable), movable.client()
    assert one.commit(partition(movable), 5) == codes.NONE
    two.is_named()
    two.sends_join()
    told_to_join(one)
    one.join(ANOTHER)
    two.joined()
    movable.move()
    one.find()
    two.find()
    # A generation that was announced and not assigned is not written.
    assert one.sync({one.who.member: b"1"})[0] == codes.ILLEGAL_GENERATION
    assert two.sync()[0] == codes.UNKNOWN_MEMBER_ID
    one.who = replace(one.who, generation=1)
    assert one.heartbeat() == codes.NONE
    assert one.committed(partition(movable)) == 5
