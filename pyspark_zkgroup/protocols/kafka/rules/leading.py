"""What the leader of a generation assigns to each member, and what it has to remember of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.kafka.consumer_protocol import MemberAssignment
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember, assign


@dataclass(frozen=True, slots=True)
class Led:
    """What a leader knows of the generation it has assigned. `ours` are the partitions of zkgroup
    members, who leave first positions to it; `topics` those that any member reads.
    """

    members: int = 0
    topics: Mapping[str, tuple[int, ...]] | None = None
    ours: frozenset[TopicPartition] = frozenset()


def lead(
    assignor: str,
    members: Sequence[GroupMember],
    topics: Mapping[str, tuple[int, ...]],
    own_topics: Sequence[str],
) -> tuple[dict[str, MemberAssignment], Led]:
    """`own_topics`: what the leader itself subscribes to. First positions of others are its to
    write only where its own options speak of the topic.
    """
    shares = assign(assignor, members, topics)
    led_by_us = {
        m.id
        for m in members
        if m.subscription.is_zkgroup and set(m.subscription.topics) <= set(own_topics)
    }
    assignments = {
        member: MemberAssignment(share, by_zkgroup=member in led_by_us)
        for member, share in shares.items()
    }
    ours = frozenset(p for member in led_by_us for p in shares[member])
    return assignments, Led(len(members), topics, ours)
