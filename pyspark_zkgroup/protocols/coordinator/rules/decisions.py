"""All groups of one coordinator: the effect of each event, as values.

Requests for a rebalance wait in a queue, each group once. A trigger that comes while its group is
being read stays in the queue and is served afterwards, so it is merged with others of its kind and
never lost. The caller takes a group from the queue, reads its registry and returns it as
`GroupRead`; answers are accepted at any time in between. No event waits for another.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from pyspark_zkgroup.protocols.coordinator.rules import rebalance
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.coordinator.rules.interests import Interests, changed_topics
from pyspark_zkgroup.protocols.coordinator.rules.rebalance import (
    Commands,
    GroupRead,
    GroupState,
    Topics,
)


@dataclass(frozen=True, slots=True)
class TopicsSeen:
    """All topics with their partitions, as they are now."""

    topics: Topics


@dataclass(frozen=True, slots=True)
class GroupsSeen:
    """All groups that have a registry, as they are now."""

    groups: frozenset[str]


@dataclass(frozen=True, slots=True)
class MembersChanged:
    """Something in this group's registries has changed."""

    group: str


@dataclass(frozen=True, slots=True)
class ReadFailed:
    """A group that was taken from the queue could not be read: it is queued again."""

    group: str


@dataclass(frozen=True, slots=True)
class Answered:
    group: str
    consumer: str
    answer: Answer


Event: TypeAlias = TopicsSeen | GroupsSeen | MembersChanged | GroupRead | ReadFailed | Answered


@dataclass(frozen=True, slots=True)
class Coordinator:
    """`epoch` is that of its election. `base` is the number of its last decision in that epoch,
    from before it started with no state again. `reading` has the groups taken from the queue and
    not returned yet.
    """

    epoch: int
    base: int = 0
    topics: Topics = field(default_factory=dict)
    groups: Mapping[str, GroupState] = field(default_factory=dict)
    interests: Interests = field(default_factory=Interests)
    queue: tuple[str, ...] = ()
    reading: frozenset[str] = frozenset()

    @property
    def newest(self) -> int:
        """Return the largest number of any decision so far."""
        return max([self.base, *(group.generation.number for group in self.groups.values())])

    @property
    def rebalancing(self) -> frozenset[str]:
        """Return the groups that are queued, being read, or have answers outstanding."""
        unsettled = {name for name, state in self.groups.items() if not state.settled}
        return frozenset(unsettled | self.reading | set(self.queue))


def elected(epoch: int, base: int = 0) -> Coordinator:
    """Start with no state: what an earlier coordinator left undone shows in the groups."""
    return Coordinator(epoch, base)


def take(state: Coordinator) -> tuple[Coordinator, str | None]:
    """Return the next group to be read, unless one is being read already."""
    for group in state.queue:
        if group not in state.reading:
            queue = tuple(g for g in state.queue if g != group)
            return replace(state, queue=queue, reading=state.reading | {group}), group
    return state, None


def step(state: Coordinator, event: Event) -> tuple[Coordinator, str, Commands]:
    """Return the next state, the group that it concerns, and the commands to its members."""
    if isinstance(event, TopicsSeen):
        concerned = state.interests.concerned(changed_topics(state.topics, event.topics))
        return _ask(replace(state, topics=dict(event.topics)), concerned), "", ()
    if isinstance(event, GroupsSeen):
        return _list(state, event.groups), "", ()
    if isinstance(event, MembersChanged):
        known = {event.group} & state.groups.keys()
        return _ask(state, known), "", ()
    if isinstance(event, ReadFailed):
        known = {event.group} & state.groups.keys()
        return _ask(replace(state, reading=state.reading - {event.group}), known), "", ()
    if isinstance(event, GroupRead):
        return _read(state, event)
    group = state.groups.get(event.group)
    if group is None:
        return state, event.group, ()
    changed, commands = rebalance.answered(group, event.consumer, event.answer)
    return _put(state, event.group, changed), event.group, commands


def _list(state: Coordinator, names: frozenset[str]) -> Coordinator:
    born = names - state.groups.keys()
    gone = state.groups.keys() - names
    interests = state.interests
    for group in gone:
        interests = interests.without(group)
    groups = {name: group for name, group in state.groups.items() if name not in gone}
    groups |= {name: GroupState(Generation(state.epoch, state.base)) for name in born}
    queue = tuple(g for g in state.queue if g not in gone)
    return _ask(replace(state, groups=groups, interests=interests, queue=queue), born)


def _read(state: Coordinator, read: GroupRead) -> tuple[Coordinator, str, Commands]:
    state = replace(state, reading=state.reading - {read.group})
    group = state.groups.get(read.group)
    if group is None:
        return state, read.group, ()
    changed, commands = rebalance.look(group, read, _relevant(state, read))
    interests = state.interests.of(read.group, tuple(read.members.values()))
    return _put(replace(state, interests=interests), read.group, changed), read.group, commands


def _relevant(state: Coordinator, read: GroupRead) -> Topics:
    """Return the topics that the group reads, so that its state does not grow with the cluster."""
    distinct = {(m.subscription, m.internal): m for m in read.members.values()}
    wanted = {t for m in distinct.values() for t in rebalance.topics_of_member(m, state.topics)}
    return {topic: state.topics[topic] for topic in sorted(wanted)}


def _ask(state: Coordinator, groups: Collection[str]) -> Coordinator:
    return replace(state, queue=(*state.queue, *sorted(g for g in groups if g not in state.queue)))


def _put(state: Coordinator, name: str, group: GroupState) -> Coordinator:
    return replace(state, groups={**state.groups, name: group})
