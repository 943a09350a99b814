"""Finds the groups that a change of topics concerns: by the topic's name, or by a pattern."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.group.snapshot import topics_of
from pyspark_zkgroup.jvm.patterns import INTERNAL_TOPICS
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import Member, Topics


@dataclass(frozen=True, slots=True)
class Interests:
    """`by_topic` has the groups that name each topic, whether it exists or not. `wildcards` has the
    members with patterns, by group.
    """

    by_topic: Mapping[str, frozenset[str]] = field(default_factory=dict)
    wildcards: Mapping[str, tuple[Member, ...]] = field(default_factory=dict)

    def of(self, group: str, members: Collection[Member]) -> Interests:
        """Return the same, with this group's present members."""
        left = self.without(group)
        by_topic = dict(left.by_topic)
        named = {
            topic
            for member in members
            if not member.subscription.is_wildcard
            for topic, _ in member.subscription.entries
        }
        for topic in named:
            by_topic[topic] = by_topic.get(topic, frozenset()) | {group}
        # Members with the same pattern are asked once.
        patterns = {(m.subscription, m.internal): m for m in members if m.subscription.is_wildcard}
        wildcards = dict(left.wildcards)
        if patterns:
            wildcards[group] = tuple(patterns.values())
        return Interests(by_topic, wildcards)

    def without(self, group: str) -> Interests:
        by_topic = {
            topic: left for topic, groups in self.by_topic.items() if (left := groups - {group})
        }
        return Interests(by_topic, {g: m for g, m in self.wildcards.items() if g != group})

    def concerned(self, topics: Collection[str]) -> frozenset[str]:
        """Return the groups for which a change of any of these topics matters."""
        named = {group for topic in topics for group in self.by_topic.get(topic, ())}
        matched = {
            group
            for group, members in self.wildcards.items()
            if any(_means(member, topics) for member in members)
        }
        return frozenset(named | matched)


def changed_topics(before: Topics, after: Topics) -> frozenset[str]:
    """Return the topics that are new, deleted, or have other partitions than before."""
    return frozenset(t for t in before.keys() | after.keys() if before.get(t) != after.get(t))


def _means(member: Member, topics: Collection[str]) -> bool:
    hidden = frozenset() if member.internal else INTERNAL_TOPICS
    return bool(topics_of(member.subscription, topics, hidden))
