"""A group that the brokers coordinate as it would be assigned, as it is or if it were changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts
from pyspark_zkgroup.inspect.what_if import Change, grown
from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription
from pyspark_zkgroup.kafka.member_settings import ASSIGNORS, COOPERATIVE_STICKY
from pyspark_zkgroup.model import BrokeredMember, TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.assignors import GroupMember, assign

_GENERATION = 1
# A rule that hands over in two rebalances shows its result after the second one.
_REBALANCES = 2


@dataclass(frozen=True, slots=True)
class Foreseen:
    """`owners` are ids of members; `remarks` say what is assumed."""

    rule: str
    members: tuple[str, ...]
    owners: Mapping[TopicPartition, str]
    remarks: tuple[str, ...] = ()


def foreseen(facts: BrokeredFacts, change: Change) -> Foreseen:
    """AssignmentError where the assignment cannot be foreseen."""
    group = facts.group
    if not group.members and not change.more:
        raise AssignmentError.of("no_members", group=group.group)
    if not group.shows_assignment and group.members:
        raise AssignmentError.of("rebalancing", group=group.group, state=group.state)
    said = change.strategy or group.assignor
    rule, remarks = _rule(said)
    members = [one for one in group.members if one.id not in change.without]
    if change.more:
        like = _commonest(members)
        remarks += (f"{', '.join(change.more)}: reads what {like.id} reads",)
        members += [BrokeredMember(name, topics=like.topics) for name in change.more]
    counts = {t: grown(facts.topics, t, n) for t, n in change.partitions.items()}
    numbers = {**facts.topics, **counts}
    read = {topic for member in members for topic in member.topics}
    partitions = {topic: numbers.get(topic, ()) for topic in read}
    shares = {member.id: member.assigned for member in members}
    for _ in range(_REBALANCES):
        shares = assign(rule, [_joining(member, shares) for member in members], partitions)
    owners = {partition: name for name, own in shares.items() for partition in own}
    return Foreseen(said, tuple(shares), owners, remarks)


def _rule(said: str) -> tuple[str, tuple[str, ...]]:
    if said in ASSIGNORS:
        return said, ()
    return COOPERATIVE_STICKY, (
        f"{said or 'the assignor'} is not known here: an even assignment is shown that moves as "
        "little as possible",
    )


def _joining(
    member: BrokeredMember, shares: Mapping[str, frozenset[TopicPartition]]
) -> GroupMember:
    own = shares.get(member.id, frozenset())
    return GroupMember(
        member.id, MemberSubscription(member.topics, own, _GENERATION), member.instance
    )


def _commonest(members: list[BrokeredMember]) -> BrokeredMember:
    readers = [member for member in members if member.topics]
    if not readers:
        raise AssignmentError.of("no_model_member")
    (most, _), *_ = Counter(member.topics for member in readers).most_common(1)
    return next(member for member in readers if member.topics == most)
