"""One group's rebalance as a state machine: it stops what must move, then starts it.

Nothing here waits. After each event the state moves as near to the target as is possible now: a
partition whose holder has not answered its stop stays with that holder, and all others move. So a
slow member delays only what it must give up, and a second trigger in the middle of a rebalance only
changes the target.

The rule: a partition is started only if no other member may hold it, so never before its stop was
answered or its holder's registration ended. An answer counts only for the stop with its generation;
any other is late and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.group.balance import balanced
from pyspark_zkgroup.group.snapshot import threads_by_topic, topics_of
from pyspark_zkgroup.jvm.patterns import INTERNAL_TOPICS
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Answer,
    Assigned,
    Command,
    Start,
    Started,
    Stop,
    Stopped,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation

Topics = Mapping[str, tuple[int, ...]]
Commands = tuple[tuple[str, Command], ...]


@dataclass(frozen=True, slots=True)
class Member:
    """`life` tells this registration from an earlier one under the same consumer id. `internal`:
    its pattern also matches the brokers' own topics.
    """

    life: int
    subscription: Subscription
    internal: bool = False


@dataclass(frozen=True, slots=True)
class GroupRead:
    """A group as its registry shows it.

    `owned` has the thread that reads each partition, or that a start names and that may read it
    soon. `strangers` are live members of the group in the other registry.
    """

    group: str
    members: Mapping[str, Member]
    owned: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stopping:
    """One member's stop that was not answered yet."""

    consumer: str
    generation: Generation
    partitions: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class GroupState:
    """`subscribed` has the topics of each member. `holders` has the members that may read each
    partition, until its stop is answered or their life ends. `told` has the newest share sent to
    each member. `offsets` has how far the last holders came. `refused` is why nothing is decided.
    """

    generation: Generation
    members: Mapping[str, Member] = field(default_factory=dict)
    subscribed: Mapping[str, Topics] = field(default_factory=dict)
    target: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    holders: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    stopping: tuple[Stopping, ...] = ()
    starting: Mapping[str, Generation] = field(default_factory=dict)
    told: Mapping[str, Start] = field(default_factory=dict)
    offsets: Mapping[TopicPartition, int] = field(default_factory=dict)
    looked: bool = False
    refused: str = ""

    @property
    def settled(self) -> bool:
        """Return whether every member has received its whole share and has confirmed it."""
        return self.looked and not self.refused and not self.stopping and not self.starting

    def stopping_of(self, consumer: str) -> frozenset[TopicPartition]:
        return frozenset(
            p for stop in self.stopping if stop.consumer == consumer for p in stop.partitions
        )


def look(state: GroupState, read: GroupRead, topics: Topics) -> tuple[GroupState, Commands]:
    """Take what was read of the registry: a life that has ended holds nothing any more, and the
    target is computed again.

    At the first look the owners are the holders. Later the coordinator's own record of the commands
    that it sent is newer.
    """
    holders = dict(state.holders) if state.looked else dict(read.owned)
    ended = {
        consumer
        for consumer, member in state.members.items()
        if consumer not in read.members or read.members[consumer].life != member.life
    }
    holders = {
        p: thread
        for p, thread in holders.items()
        if thread.consumer in read.members and thread.consumer not in ended
    }
    threads = threads_of_group(read.members, topics)
    stopping = tuple(s for s in state.stopping if s.consumer not in ended)
    leaving = {p for stop in stopping for p in stop.partitions}
    current = {p: thread for p, thread in holders.items() if p not in leaving}
    state = replace(
        state,
        members=dict(read.members),
        subscribed=_subscribed(read.members, topics),
        target=balanced({topic: topics[topic] for topic in threads}, threads, current),
        holders=holders,
        stopping=stopping,
        starting={c: g for c, g in state.starting.items() if c not in ended},
        told={c: start for c, start in state.told.items() if c not in ended},
        looked=True,
        refused=_refusal(read),
    )
    return _advance(state)


def answered(state: GroupState, consumer: str, answer: Answer) -> tuple[GroupState, Commands]:
    """Take an answer: that to a stop frees what it stopped.

    An answer that comes after its life or its coordinator has ended finds no stop of its
    generation.
    """
    member = state.members.get(consumer)
    if member is None or member.life != answer.life:
        return state, ()
    if isinstance(answer, Started):
        if state.starting.get(consumer) != answer.generation:
            return state, ()
        starting = {c: g for c, g in state.starting.items() if c != consumer}
        return replace(state, starting=starting), ()
    if not isinstance(answer, Stopped):
        return state, ()
    done = [
        s for s in state.stopping if (s.consumer, s.generation) == (consumer, answer.generation)
    ]
    if not done:
        return state, ()
    freed = {p for stop in done for p in stop.partitions}
    state = replace(
        state,
        holders={p: t for p, t in state.holders.items() if p not in freed},
        stopping=tuple(s for s in state.stopping if s not in done),
        offsets={**state.offsets, **{p: o for p, o in answer.offsets.items() if p in freed}},
    )
    return _advance(state)


def threads_of_group(
    members: Mapping[str, Member], topics: Topics
) -> dict[str, tuple[ThreadId, ...]]:
    """Return for each existing topic the threads that read it."""
    found: dict[str, tuple[ThreadId, ...]] = {}
    for internal in (False, True):
        subscriptions = {c: m.subscription for c, m in members.items() if m.internal is internal}
        hidden = frozenset() if internal else INTERNAL_TOPICS
        for topic, threads in threads_by_topic(subscriptions, topics, hidden).items():
            if topic in topics:
                found[topic] = (*found[topic], *threads) if topic in found else threads
    return found


def topics_of_member(member: Member, topics: Topics) -> dict[str, tuple[int, ...]]:
    hidden = frozenset() if member.internal else INTERNAL_TOPICS
    return {
        topic: topics[topic]
        for topic, _ in topics_of(member.subscription, topics, hidden)
        if topic in topics
    }


def _subscribed(members: Mapping[str, Member], topics: Topics) -> dict[str, Topics]:
    """Return the topics of members; equal subscriptions are matched once, as patterns are slow."""
    known: dict[tuple[Subscription, bool], Topics] = {}
    found: dict[str, Topics] = {}
    for consumer, member in members.items():
        key = (member.subscription, member.internal)
        if key not in known:
            known[key] = topics_of_member(member, topics)
        found[consumer] = known[key]
    return found


def _advance(state: GroupState) -> tuple[GroupState, Commands]:
    """Return all commands that can be sent now, stops first.

    A start that leaves out what must be stopped would also be obeyed, but not answered with
    offsets.
    """
    if state.refused:
        return state, ()
    generation = state.generation.next
    stops = _stops(state, generation)
    stopping = (
        *state.stopping,
        *(Stopping(c, generation, stop.partitions) for c, stop in stops.items()),
    )
    told = dict(state.told)
    for consumer, stop in stops.items():
        if consumer in told:
            before = told[consumer]
            left = {p: a for p, a in before.share.items() if p not in stop.partitions}
            told[consumer] = replace(before, share=left)
    state = replace(state, stopping=stopping, told=told)
    starts = _starts(state, generation)
    if not stops and not starts:
        return state, ()
    holders = dict(state.holders)
    offsets = dict(state.offsets)
    for consumer, start in starts.items():
        for partition, assigned in start.share.items():
            holders[partition] = ThreadId(consumer, assigned.thread)
            offsets.pop(partition, None)
    state = replace(
        state,
        generation=generation,
        holders=holders,
        offsets=offsets,
        told={**state.told, **starts},
        starting={**state.starting, **dict.fromkeys(starts, generation)},
    )
    return state, (*sorted(stops.items()), *sorted(starts.items()))


def _stops(state: GroupState, generation: Generation) -> dict[str, Stop]:
    leaving = {p for stop in state.stopping for p in stop.partitions}
    moved: dict[str, set[TopicPartition]] = {}
    for partition, thread in state.holders.items():
        wanted = state.target.get(partition)
        stays = wanted is not None and wanted.consumer == thread.consumer
        if not stays and partition not in leaving:
            moved.setdefault(thread.consumer, set()).add(partition)
    return {
        consumer: Stop(generation, state.members[consumer].life, frozenset(partitions))
        for consumer, partitions in moved.items()
    }


def _starts(state: GroupState, generation: Generation) -> dict[str, Start]:
    """Return starts for members whose free share, or topics, differ from the last ones sent."""
    leaving = {p for stop in state.stopping for p in stop.partitions}
    shares: dict[str, dict[TopicPartition, Assigned]] = {c: {} for c in state.members}
    for partition, thread in sorted(state.target.items()):
        holder = state.holders.get(partition)
        if partition in leaving or (holder is not None and holder.consumer != thread.consumer):
            continue
        offset = state.offsets.get(partition)
        shares[thread.consumer][partition] = Assigned(thread.number, offset)
    starts: dict[str, Start] = {}
    for consumer, share in shares.items():
        member = state.members[consumer]
        start = Start(generation, member.life, share, state.subscribed[consumer])
        before = state.told.get(consumer)
        if before is None or not _same(before, start):
            starts[consumer] = start
    return starts


def _same(before: Start, now: Start) -> bool:
    """Compare without offsets: they are sent with the first start of a partition only."""
    return before.topics == now.topics and (
        {p: a.thread for p, a in before.share.items()}
        == {p: a.thread for p, a in now.share.items()}
    )


def _refusal(read: GroupRead) -> str:
    if not read.strangers or not read.members:
        return ""
    named = ", ".join(sorted(read.strangers)[:5])
    return (
        f"Group {read.group} has members that assign partitions themselves ({named}) and members "
        f"of a coordinator ({', '.join(sorted(read.members)[:5])}). The coordinator assigns "
        f"nothing until all members of one kind have left"
    )
