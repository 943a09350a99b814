"""What a leader hands out, and which first positions it takes as its own to write."""

from __future__ import annotations

from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember
from pyspark_zkgroup.protocols.kafka.rules.leading import lead

TOPICS = {"t": (0, 1, 2), "u": (0,)}


def member(name: str, *topics: str, is_zkgroup: bool) -> GroupMember:
    return GroupMember(name, MemberSubscription(topics, is_zkgroup=is_zkgroup))


def test_a_leader_writes_first_positions_only_where_its_options_speak_of_the_topic() -> None:
    members = [
        member("leader", "t", is_zkgroup=True),
        member("elsewhere", "t", "u", is_zkgroup=True),
        member("java", "t", is_zkgroup=False),
    ]
    assignments, led = lead("roundrobin", members, TOPICS, ["t"])
    assert {name: one.by_zkgroup for name, one in assignments.items()} == {
        "leader": True,
        "elsewhere": False,
        "java": False,
    }
    assert led.ours == assignments["leader"].partitions
    assert (led.members, led.topics) == (3, TOPICS)


def test_each_partition_has_one_member() -> None:
    members = [member(name, "t", "u", is_zkgroup=True) for name in ("a", "b")]
    assignments, led = lead("range", members, TOPICS, ["t", "u"])
    shares = [one.partitions for one in assignments.values()]
    assert sum(map(len, shares)) == 4
    assert led.ours == frozenset().union(*shares)
    assert TopicPartition("u", 0) in led.ours
