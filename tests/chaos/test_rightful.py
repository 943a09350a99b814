"""Whose a partition was, on groups made by hand."""

from __future__ import annotations

from pyspark_zkgroup.group.assignors import assign
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import parse
from tests.chaos.rightful import Rightful
from tests.chaos.values import FOREVER, Membership, Right, Span

GIVEN = {"zookeeper.connect": "zk:2181", "group.id": "g", "subscribe": "t", "threads": "1"}
P = [TopicPartition("t", n) for n in range(7)]
WATCHED = [
    Membership(10.0, frozenset({"g_a", "g_b"})),
    Membership(20.0, frozenset({"g_a", "g_b", "g_c"})),
    Membership(30.0, frozenset({"g_a", "g_c"})),
]


def rightful(born: dict[TopicPartition, float], **options: str) -> Rightful:
    named = {key.replace("_", "."): value for key, value in options.items()}
    return Rightful(WATCHED, P, born, parse({**GIVEN, **named}))


def test_it_is_whom_the_assignor_names_of_those_registered_then() -> None:
    for strategy in ("range", "roundrobin"):
        group = rightful({}, partition_assignment_strategy=strategy)
        threads = {"t": tuple(ThreadId(c, 0) for c in sorted(WATCHED[1].consumers))}
        named = assign(strategy, "new", {"t": range(len(P))}, threads)
        for partition in P:
            (right,) = group.during(partition, Span(21.0, 25.0))
            assert right.consumer == named[partition].consumer


def test_it_changes_with_the_members_and_only_where_another_is_named() -> None:
    group = rightful({}, partition_assignment_strategy="range")
    assert group.during(P[0], Span(11.0, 40.0)) == [
        Right("g_a", Span(11.0, 40.0), since=10.0, gone=FOREVER)
    ]
    assert group.during(P[4], Span(11.0, 40.0)) == [
        Right("g_b", Span(11.0, 30.0), since=10.0, gone=30.0),
        Right("g_c", Span(30.0, 40.0), since=20.0, gone=FOREVER),
    ]
    assert [r.consumer for r in group.during(P[6], Span(5.0, 40.0))] == ["", "g_b", "g_c"]


def test_a_partition_that_is_made_moves_others() -> None:
    group = rightful({P[6]: 12.0}, partition_assignment_strategy="range")
    assert [(r.consumer, r.span) for r in group.during(P[3], Span(10.0, 20.0))] == [
        ("g_b", Span(10.0, 12.0)),
        ("g_a", Span(12.0, 20.0)),
    ]
    assert [r.consumer for r in group.during(P[6], Span(12.0, 20.0))] == ["g_b"]
