"""Whom to ask who leads a partition: not the broker that says that it does, as long as there is
another one.
"""

from __future__ import annotations

from pyspark_zkgroup.kafka.leader_cache import Leader, Leaders
from pyspark_zkgroup.model import Mark, TopicPartition

P = [TopicPartition("t", n) for n in range(3)]


def led_by(*nodes: int) -> Leaders:
    leaders = Leaders()
    for partition, node in zip(P, nodes, strict=False):
        leaders.learn(partition, Leader(node, Mark(3, "id")))
    return leaders


def test_a_leader_is_not_asked_whether_it_leads() -> None:
    leaders = led_by(1, 2)
    leaders.heard(1, {1, 2, 3})
    leaders.forget(P[0])
    assert leaders.asked_last(P[:1]) == {1}
    assert leaders.asked_last(P[:2]) == {1, 2}


def test_where_every_broker_leads_something_they_are_asked_in_turn() -> None:
    """A broker that is cut off from the controller, and is the one that has always answered, would
    confirm itself at each look.
    """
    leaders = led_by(1, 2, 3)
    leaders.heard(2, {1, 2, 3})
    assert leaders.asked_last(P) == {2}
    leaders.heard(1, {1, 2, 3})
    assert leaders.asked_last(P) == {1}


def test_where_nothing_is_known_any_broker_may_answer() -> None:
    leaders = Leaders()
    assert leaders.asked_last(P) == frozenset()
    leaders.expect(P[0], Mark(4, "id"))
    leaders.heard(None, {1})
    assert leaders.asked_last(P) == frozenset()
