"""What a group that the brokers coordinate looks like: the same report as of one in ZooKeeper.

Its coordinator tells the members, their assignment and the offsets. It does not tell when a member
joined, since when it owns a partition, or when an offset was committed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.inspect.rows import (
    GroupProtocol,
    GroupReport,
    MemberRow,
    PartitionRow,
    State,
    Waiting,
)
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.model import BrokeredGroup, BrokeredMember, StoredOffset, TopicPartition

REBALANCING = "unknown: the group is rebalancing"


@dataclass(frozen=True, slots=True)
class BrokeredFacts:
    """`topics` are all of the cluster."""

    group: BrokeredGroup
    offsets: Mapping[TopicPartition, StoredOffset] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        return bool(self.group.state or self.group.members or self.offsets)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Those that members read, and those that the group has offsets of."""
        read = {topic for member in self.group.members for topic in member.topics}
        found = {TopicPartition(t, n) for t in read for n in self.topics.get(t, ())}
        found |= self.offsets.keys()
        for member in self.group.members:
            found |= member.assigned | (member.target or frozenset())
        return tuple(sorted(found, key=lambda p: (compare_key(p.topic), p.partition)))


def brokered_report(facts: BrokeredFacts, ends: Mapping[TopicPartition, int]) -> GroupReport:
    group = facts.group
    owners = {p: member.id for member in group.members for p in member.assigned}
    wanted = {p: m.id for m in group.members for p in _target(m)}
    read = {topic for member in group.members for topic in member.topics}
    rows = tuple(
        _row(facts, p, owners.get(p), wanted.get(p), ends.get(p), is_read=p.topic in read)
        for p in facts.partitions
    )
    members = tuple(_member(group, m, owners) for m in group.members)
    notes = tuple(_notes(facts))
    protocol: GroupProtocol | None = "kafka" if members else None
    return GroupReport(group.group, members, rows, notes, protocol, faults=notes, brokered=group)


def _target(member: BrokeredMember) -> frozenset[TopicPartition]:
    return member.assigned if member.target is None else member.target


def _row(
    facts: BrokeredFacts,
    partition: TopicPartition,
    owner: str | None,
    wanted: str | None,
    end: int | None,
    *,
    is_read: bool,
) -> PartitionRow:
    stored = facts.offsets.get(partition)
    is_hidden = bool(facts.group.members) and not facts.group.shows_assignment
    state: State = "free" if is_read or wanted is not None else "unread"
    if owner is not None:
        state = "owned" if owner == wanted else "moving"
    return PartitionRow(
        partition,
        "moving" if is_hidden else state,
        owner,
        None,
        wanted,
        None if stored is None else stored.offset,
        end,
        undecided=REBALANCING if is_hidden else None,
        by_member=True,
    )


def _member(
    group: BrokeredGroup, member: BrokeredMember, owners: Mapping[TopicPartition, str]
) -> MemberRow:
    missing = sorted(_target(member) - member.assigned)
    waiting = tuple(Waiting(p, owners[p], by_member=True) for p in missing if p in owners)
    return MemberRow(
        member.id,
        "unreadable" if member.trouble else "zkgroup" if member.is_zkgroup else "consumer",
        None,
        None,
        len(member.assigned),
        pattern=f"pattern {member.regex}" if member.regex else "static",
        subscription=dict.fromkeys(member.topics, 0),
        strategy=group.assignor or None,
        static=member.instance is not None,
        trouble=member.trouble or None,
        protocol="kafka",
        waiting=waiting if group.shows_assignment else None,
        client=member.client,
        host=member.host,
    )


def _notes(facts: BrokeredFacts) -> Iterator[str]:
    group = facts.group
    if group.members and not group.shows_assignment:
        yield (
            f"the group is rebalancing ({group.state}): its coordinator tells who owns what when "
            "that is over"
        )
    classic = [member.id for member in group.members if member.is_classic]
    if classic:
        yield (
            f"{len(classic)} of {len(group.members)} members still use the classic protocol in a "
            "group of the consumer protocol"
        )
