"""Which commands a member obeys, and what it answers."""

from __future__ import annotations

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.orders import Orders
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Assigned,
    Holding,
    Ping,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.owned.holdings import Holdings

P = [TopicPartition("t", n) for n in range(3)]
LIFE = 7
OLD, G1, G2 = Generation(1, 9), Generation(2, 1), Generation(2, 2)
START = Start(G1, LIFE, {P[0]: Assigned(1), P[1]: Assigned(0)})


def orders() -> Orders:
    found = Orders()
    assert found.live(LIFE)
    assert not found.live(LIFE)
    found.obey(START)
    return found


def holding(*partitions: TopicPartition) -> Holdings:
    known = {p: Known(NodeVersion(7, 2), 9, 9) for p in partitions}
    return Holdings(known, {p: Held(0, 1) for p in partitions})


def test_a_start_is_the_share_and_a_stop_takes_from_it() -> None:
    found = orders()
    assert found.share == {P[0]: 1, P[1]: 0}
    found.obey(Stop(G2, LIFE, frozenset({P[1], P[2]})))
    assert (found.share, found.start, found.newest) == ({P[0]: 1}, START, G2)


def test_an_older_command_and_one_to_another_life_are_not_obeyed() -> None:
    found = orders()
    found.obey(Stop(OLD, LIFE, frozenset(P)))
    found.obey(Start(G2, LIFE + 1))
    assert (found.start, found.share, found.newest) == (START, {P[0]: 1, P[1]: 0}, G1)
    found.obey(Stop(G1, LIFE, frozenset({P[0]})))
    assert found.share == {P[1]: 0}, "one of the same generation is obeyed"


def test_another_life_begins_without_commands() -> None:
    found = orders()
    assert found.live(LIFE + 1)
    assert (found.start, found.share, found.newest) == (None, {}, Generation(0))


def test_a_start_and_a_ping_are_answered_at_once() -> None:
    assert orders().answer_to(START, holding()) == Started(G1, LIFE)
    assert orders().answer_to(Ping(G2, LIFE), holding(P[0])) == Holding(G2, LIFE, {P[0]: 9})


def test_a_stop_is_answered_when_nothing_of_it_is_or_may_be_held() -> None:
    found, stop = orders(), Stop(G2, LIFE, frozenset({P[0], P[2]}))
    assert found.answer_to(stop, holding(P[0])) is None
    released = holding(P[0])
    del released.held[P[0]]
    assert found.answer_to(stop, released) == Stopped(G2, LIFE, {P[0]: 9})
    released.doubtful.add(P[2])
    assert found.answer_to(stop, released) is None


def test_a_stop_of_an_earlier_epoch_is_answered_although_its_partitions_are_held_again() -> None:
    stop = Stop(OLD, LIFE, frozenset({P[0]}))
    assert orders().answer_to(stop, holding(P[0])) == Stopped(OLD, LIFE)
