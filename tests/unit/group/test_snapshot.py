from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.snapshot import (
    Snapshot,
    expand,
    read_snapshot,
    topics_of,
)
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import ThreadId, TopicPartition

TOPICS = {"a": (0, 1), "b": (0,), "wl.x": (0, 1, 2), "__consumer_offsets": (0,)}


def node(subscription: Subscription) -> bytes:
    return encode_registration(Registration(subscription, "1"))


def test_members_that_cannot_be_read_are_skipped_with_path_and_reason() -> None:
    snapshot = read_snapshot(
        "g",
        {
            "good": node(Subscription.static({"a": 1})),
            "bad": b"garbage",
            "none": None,
            "refused": node(Subscription.white_list("(", 1)),
            "unsupported": node(Subscription.white_list(r"(?<!a).*", 1)),
        },
        TOPICS,
    )
    assert set(snapshot.members) == {"good"}
    assert set(snapshot.skipped) == {"bad", "none", "refused", "unsupported"}
    assert snapshot.unsupported == {"unsupported"}
    for consumer, reason in snapshot.skipped.items():
        assert f"/consumers/g/ids/{consumer}" in reason
    assert "is not a regular expression" in snapshot.skipped["refused"]


def test_lists_mean_all_topics_but_internal_ones() -> None:
    snapshot = read_snapshot(
        "g",
        {
            "w": node(Subscription.white_list("a|wl.*|__.*", 2)),
            "n": node(Subscription.black_list("a", 1)),
            "s": node(Subscription.static({"__consumer_offsets": 1, "nowhere": 1})),
        },
        TOPICS,
    )
    assert snapshot.has_wildcards
    threads = {topic: list(map(str, takers)) for topic, takers in expand(snapshot, True).items()}
    assert threads == {
        "a": ["w-0", "w-1"],
        "b": ["n-0"],
        "wl.x": ["n-0", "w-0", "w-1"],
        "__consumer_offsets": ["s-0"],
    }
    shown = expand(snapshot, False)["__consumer_offsets"]
    assert list(map(str, shown)) == ["n-0", "s-0", "w-0", "w-1"]


def test_threads_sort_as_text() -> None:
    snapshot = Snapshot(
        {name: Registration(Subscription.static({"a": 11}), "1") for name in ("c", "c-1")}, TOPICS
    )
    takers = list(map(str, expand(snapshot, True)["a"]))
    assert takers[:5] == ["c-0", "c-1", "c-1-0", "c-1-1", "c-1-10"]
    assert takers[-1] == "c-9"


def test_the_target_covers_what_any_member_reads() -> None:
    snapshot = read_snapshot("g", {"c": node(Subscription.static({"b": 1, "nowhere": 2}))}, TOPICS)
    assert target(snapshot, "range", "new", True) == {TopicPartition("b", 0): ThreadId("c", 0)}
    with pytest.raises(AssignmentError, match="sticky"):
        target(snapshot, "sticky", "new", True)
    with pytest.raises(AssignmentError, match="newest"):
        target(snapshot, "roundrobin", "newest", True)


def test_an_empty_subscription_reads_nothing() -> None:
    snapshot = read_snapshot("g", {"c": b'{"pattern":"static","subscription":{}}'}, TOPICS)
    assert target(snapshot, "roundrobin", "old", True) == {}
    assert not snapshot.has_wildcards


def test_a_twice_escaped_expression_matches_nothing() -> None:
    # What JVM members from 1.0.1 on register for wl\.\w+, and what they make of it themselves.
    stored = b'{"version":1,"subscription":{"wl\\\\\\\\.\\\\\\\\w+":2},"pattern":"white_list"}'
    snapshot = read_snapshot("g", {"c": stored}, TOPICS)
    assert snapshot.members["c"].subscription.expression == r"wl\\.\\w+"
    assert topics_of(snapshot.members["c"].subscription, TOPICS) == []
