"""Kafka's round robin, with the examples of its documentation."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember, round_robin


@pytest.mark.parametrize(
    ("members", "topics", "expected"),
    [
        (
            {"C0": "t0 t1", "C1": "t0 t1"},
            {"t0": (0, 1, 2), "t1": (0, 1, 2)},
            {"C0": "t0-0 t0-2 t1-1", "C1": "t0-1 t1-0 t1-2"},
        ),
        (
            {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"},
            {"t0": (0,), "t1": (0, 1), "t2": (0, 1, 2)},
            {"C0": "t0-0", "C1": "t1-0", "C2": "t1-1 t2-0 t2-1 t2-2"},
        ),
        (
            {"C0": "t0", "C1": "t0", "C2": "t0"},
            {"t0": (0, 1, 2, 3)},
            {"C0": "t0-0 t0-3", "C1": "t0-1", "C2": "t0-2"},
        ),
    ],
)
def test_partitions_are_dealt_in_turn(
    members: dict[str, str], topics: dict[str, tuple[int, ...]], expected: dict[str, str]
) -> None:
    group = [
        GroupMember(name, MemberSubscription(tuple(read.split())), None)
        for name, read in members.items()
    ]
    shares = round_robin(group, topics)
    assert {m: " ".join(map(str, sorted(share))) for m, share in shares.items()} == expected


def test_a_topic_that_no_member_reads_is_left_out() -> None:
    group = [GroupMember("C0", MemberSubscription(("t0",)), None)]
    assert round_robin(group, {"t0": (0,), "t1": (0,)}) == {
        "C0": frozenset([TopicPartition("t0", 0)])
    }
