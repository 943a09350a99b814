"""Who reads what, decided by the leader for all: cooperative-sticky, and Kafka's range and
round-robin.

The leader alone decides, so cooperative-sticky need not place partitions as Java's does. It must be
balanced, move as little as it can, and keep the one promise all members build on: a partition that
has an owner is given to no other member in the same generation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription
from pyspark_zkgroup.kafka.member_settings import COOPERATIVE_STICKY
from pyspark_zkgroup.model import TopicPartition

Partitions = Mapping[str, Sequence[int]]
Assignments = dict[str, frozenset[TopicPartition]]


@dataclass(frozen=True, slots=True)
class GroupMember:
    id: str
    subscription: MemberSubscription
    instance: str | None = None

    @property
    def order(self) -> tuple[bool, str]:
        """As Kafka sorts them: static members first, by their instance; then the others."""
        return (self.instance is None, self.instance or self.id)


def assign(name: str, members: Sequence[GroupMember], partitions: Partitions) -> Assignments:
    if name == COOPERATIVE_STICKY:
        return cooperative_sticky(members, partitions)
    return range_(members, partitions) if name == "range" else round_robin(members, partitions)


def range_(members: Sequence[GroupMember], partitions: Partitions) -> Assignments:
    """Per topic: each member a run of partitions, the first ones one more where it does not come
    out even.
    """
    assigned: dict[str, set[TopicPartition]] = {member.id: set() for member in members}
    for topic, numbers in partitions.items():
        readers = sorted(
            (m for m in members if topic in m.subscription.topics), key=lambda m: m.order
        )
        if not readers:
            continue
        each, more = divmod(len(numbers), len(readers))
        at = 0
        for place, reader in enumerate(readers):
            until = at + each + (place < more)
            assigned[reader.id] |= {TopicPartition(topic, n) for n in sorted(numbers)[at:until]}
            at = until
    return {member: frozenset(own) for member, own in assigned.items()}


def round_robin(members: Sequence[GroupMember], partitions: Partitions) -> Assignments:
    """All partitions in order, dealt to the members in turn; who does not read the topic is passed
    over.
    """
    assigned: dict[str, set[TopicPartition]] = {member.id: set() for member in members}
    ring = sorted(members, key=lambda m: m.order)
    turn = 0
    for topic in sorted(partitions):
        if not any(topic in member.subscription.topics for member in ring):
            continue
        for number in sorted(partitions[topic]):
            while topic not in ring[turn % len(ring)].subscription.topics:
                turn += 1
            assigned[ring[turn % len(ring)].id].add(TopicPartition(topic, number))
            turn += 1
    return {member: frozenset(own) for member, own in assigned.items()}


def cooperative_sticky(members: Sequence[GroupMember], partitions: Partitions) -> Assignments:
    """Balanced, moving as little as possible; what moves is in no member's share this time. Its
    owner gives it back, which begins the next rebalance, and that one assigns it.
    """
    claims = _claims(members)
    wanted = _balanced(members, partitions, claims)
    return {
        member: frozenset(p for p in own if claims.get(p, member) == member)
        for member, own in wanted.items()
    }


_NOBODY = ""
"""Claimed by two of one generation, or of an unknown one: neither keeps it, and no other member may
have it yet.
"""


def _claims(members: Sequence[GroupMember]) -> dict[TopicPartition, str]:
    """Who owns what. Of two who say so, the one of the newer generation: the other has missed one,
    and was taken for dead. Who alone says so is believed, whatever the generation.

    The coordinator counts A out; B joins generation 5 and learns that; the coordinator moves, and
    the next one knows generation 4 only, with A in it, who has not noticed anything. B joins again
    with what it owns in 5, A with what it owns in 4 and still reads.
    """
    claims: dict[TopicPartition, str] = {}
    since: dict[TopicPartition, int | None] = {}
    for member in members:
        generation = member.subscription.generation
        for partition in member.subscription.owned:
            other = since.get(partition)
            if partition not in claims:
                claims[partition], since[partition] = member.id, generation
            elif generation is None or other is None:
                claims[partition], since[partition] = _NOBODY, None
            elif generation == other:
                claims[partition] = _NOBODY
            elif generation > other:
                claims[partition], since[partition] = member.id, generation
    return claims


def _balanced(
    members: Sequence[GroupMember], partitions: Partitions, claims: Mapping[TopicPartition, str]
) -> dict[str, set[TopicPartition]]:
    topics = {member.id: frozenset(member.subscription.topics) for member in members}
    every = [TopicPartition(t, n) for t in sorted(partitions) for n in sorted(partitions[t])]
    shares: dict[str, set[TopicPartition]] = {member: set() for member in sorted(topics)}
    free: list[TopicPartition] = []
    for partition in every:
        owner = claims.get(partition, _NOBODY)
        if owner in shares and partition.topic in topics[owner]:
            shares[owner].add(partition)
        else:
            free.append(partition)
    # Those with the fewest possible readers first: the others can still even things out.
    readers = {t: [m for m in shares if t in topics[m]] for t in partitions}
    for partition in sorted(free, key=lambda p: (len(readers[p.topic]), p)):
        if readers[partition.topic]:
            least = min(readers[partition.topic], key=lambda m: (len(shares[m]), m))
            shares[least].add(partition)
    while _even_out(shares, topics):
        pass
    return shares


def _even_out(shares: dict[str, set[TopicPartition]], topics: Mapping[str, frozenset[str]]) -> bool:
    """Move one partition from a member to one that has at least two less. Each move makes the sum
    of the squares smaller, so this ends.
    """
    by_size = sorted(shares, key=lambda m: (len(shares[m]), m))
    for giver in reversed(by_size):
        for taker in by_size:
            if len(shares[giver]) - len(shares[taker]) < 2:
                break
            movable = [p for p in shares[giver] if p.topic in topics[taker]]
            if movable:
                moved = max(movable)
                shares[giver].remove(moved)
                shares[taker].add(moved)
                return True
    return False
