"""A group as it would be: with another member or without one, with more partitions, or assigned by
another rule. Who would own what then is for the report of it to say.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.balance import BALANCED
from pyspark_zkgroup.inspect.report import GroupFacts, Seen, snapshot_of
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.jvm.registration import Registration, encode_registration
from pyspark_zkgroup.jvm.topics import legal_name


@dataclass(frozen=True, slots=True)
class Change:
    """`more` and `without` are consumer ids; `partitions`: how many a topic would have."""

    more: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict)
    strategy: str | None = None


def changed(facts: GroupFacts, change: Change) -> tuple[GroupFacts, tuple[str, ...]]:
    """With what was taken for granted. AssignmentError where it cannot be so."""
    ids = {consumer: seen for consumer, seen in facts.ids.items() if consumer not in change.without}
    remarks: tuple[str, ...] = ()
    if change.more:
        like = _commonest(replace(facts, ids=ids))
        for consumer in change.more:
            ids[consumer] = _joining(facts, consumer, like)
        remarks = (f"{', '.join(change.more)}: as {like}, with its topics and threads",)
        told = facts.told | set(change.more) if like in facts.told else facts.told
        facts = replace(facts, told=told)
    if change.strategy is not None:
        ids = _by(facts, ids, change.strategy)
    topics = {
        **facts.topics,
        **{t: grown(facts.topics, t, n) for t, n in change.partitions.items()},
    }
    gone = frozenset(change.without)
    kept = {name: nodes for name, nodes in facts.commands.items() if name not in gone}
    return replace(facts, ids=ids, topics=topics, told=facts.told - gone, commands=kept), remarks


def _commonest(facts: GroupFacts) -> str:
    """Whom a newcomer is taken to be like: the first of those that read the same as most."""
    readable = snapshot_of(facts).members
    if not readable:
        raise AssignmentError.of("no_model_in_nodes")
    first = sorted(readable, key=compare_key)
    (most, _), *_ = Counter(readable[name].subscription for name in first).most_common(1)
    return next(name for name in first if readable[name].subscription == most)


def _joining(facts: GroupFacts, consumer: str, like: str) -> Seen:
    if consumer in facts.ids:
        raise AssignmentError.of("already_a_member", consumer=consumer)
    return facts.ids[like]


def grown(topics: Mapping[str, tuple[int, ...]], topic: str, count: int) -> tuple[int, ...]:
    if not legal_name(topic):
        raise AssignmentError.of("bad_topic_name", topic=topic)
    now = topics.get(topic, ())
    if count < len(now):
        raise AssignmentError.of("fewer_partitions", topic=topic, count=len(now))
    return tuple(range(count))


def _by(facts: GroupFacts, ids: Mapping[str, Seen], strategy: str) -> dict[str, Seen]:
    """Members that a coordinator tells what to read are dealt by its rule alone."""
    if facts.told:
        raise AssignmentError.of("coordinator_assigns")
    readable = snapshot_of(replace(facts, ids=ids)).members
    return {
        consumer: replace(seen, data=encode_registration(_assigning_by(member, strategy)))
        if (member := readable.get(consumer)) is not None and member.is_zkgroup
        else seen
        for consumer, seen in ids.items()
    }


def _assigning_by(member: Registration, rule: str) -> Registration:
    is_balanced = rule == BALANCED
    return replace(member, strategy="range" if is_balanced else rule, balanced=is_balanced)
