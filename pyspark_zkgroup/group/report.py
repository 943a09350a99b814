"""What a group looks like from outside: its members, who owns what, and how far they are.

Made from what was read at one time. A group that is being rebalanced shows both what is and what
shall be: a partition owned by one member and wanted by another is on the move, which is no fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.coordination.sticky import STICKY, assign_sticky
from pyspark_zkgroup.group.java_order import compare_key
from pyspark_zkgroup.group.ownership import consumer_of, parse_offset, thread_of
from pyspark_zkgroup.group.registration import Registration
from pyspark_zkgroup.group.snapshot import Snapshot, expand, read_snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import ThreadId, TopicPartition

State = Literal["owned", "moving", "free", "stuck", "unread"]
_ASSUMED = ("range", "new")


@dataclass(frozen=True, slots=True)
class Seen:
    """A node as it was read; `session` is 0 for one that is not ephemeral."""

    data: bytes
    session: int
    made_ms: int


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """All nodes of a group. `topics` are those of the cluster that its members may mean."""

    group: str
    ids: Mapping[str, Seen] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    owners: Mapping[TopicPartition, Seen] = field(default_factory=dict)
    offsets: Mapping[TopicPartition, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MemberRow:
    """`trouble` is why nobody can assign it anything; then what it asks for is not known."""

    consumer: str
    kind: Literal["zkgroup", "jvm", "unreadable"]
    session: int
    since_ms: int
    owns: int
    threads: int = 0
    pattern: str = ""
    subscription: Mapping[str, int] = field(default_factory=dict)
    strategy: str | None = None
    order: str | None = None
    static: bool = False
    trouble: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """`state`: owned by whom it shall be; moving: owned by another member, or wanted by none any
    more; free: nobody owns it yet; stuck: its owner is not registered; unread: no member wants it.
    """

    partition: TopicPartition
    state: State
    owner: str | None
    since_ms: int | None
    wanted_by: str | None
    committed: int | None
    end: int | None
    trouble: str | None = None

    @property
    def lag(self) -> int | None:
        """As every lag tool counts it; unknown without a committed offset or an end."""
        if self.committed is None or self.end is None or self.committed < 0:
            return None
        return max(0, self.end - self.committed)

    @property
    def member(self) -> str | None:
        return None if self.owner is None else consumer_of(self.owner)


@dataclass(frozen=True, slots=True)
class GroupReport:
    group: str
    members: tuple[MemberRow, ...]
    partitions: tuple[PartitionRow, ...]
    notes: tuple[str, ...]

    @property
    def lag(self) -> int:
        """Of the partitions whose lag is known."""
        return sum(row.lag or 0 for row in self.partitions)

    @property
    def unknown_lags(self) -> int:
        return sum(row.lag is None for row in self.partitions)


def report(
    facts: GroupFacts, ends: Mapping[TopicPartition, int], *, exclude_internal: bool = True
) -> GroupReport:
    snapshot = _snapshot(facts)
    strategy, order, notes = _rules(snapshot)
    try:
        wanted: Mapping[TopicPartition, ThreadId]
        if strategy == STICKY:
            wanted = _told(facts, snapshot, exclude_internal)
        else:
            wanted = target(snapshot, strategy, order, exclude_internal)
    except AssignmentError as error:
        wanted = {}
        notes = (*notes, f"who shall own what cannot be said: {error}")
    every = wanted.keys() | facts.owners.keys() | facts.offsets.keys()
    rows = tuple(
        _partition(p, facts, wanted.get(p), ends.get(p))
        for p in sorted(every, key=lambda p: (compare_key(p.topic), p.partition))
    )
    return GroupReport(facts.group, _members(facts, snapshot, rows), rows, notes)


def _told(
    facts: GroupFacts, snapshot: Snapshot, exclude_internal: bool
) -> Mapping[TopicPartition, ThreadId]:
    """What a coordinator that knew no more than these nodes would tell the members."""
    threads = expand(snapshot, exclude_internal)
    partitions = {topic: facts.topics.get(topic, ()) for topic in threads}
    owners = {
        p: thread_of(seen.data.decode("utf-8", "replace")) for p, seen in facts.owners.items()
    }
    current = {p: thread for p, thread in owners.items() if thread is not None}
    return assign_sticky(partitions, threads, current)


def topics_read(facts: GroupFacts, *, exclude_internal: bool = True) -> frozenset[str]:
    """The topics that members read, or have read."""
    of_nodes = {p.topic for p in (*facts.owners, *facts.offsets)}
    return frozenset(expand(_snapshot(facts), exclude_internal)) | of_nodes


def _snapshot(facts: GroupFacts) -> Snapshot:
    ids = {consumer: seen.data for consumer, seen in facts.ids.items()}
    return read_snapshot(facts.group, ids, facts.topics)


def _rules(snapshot: Snapshot) -> tuple[str, str, tuple[str, ...]]:
    """By what the group is assigned. Only zkgroup members publish it; JVM members are believed."""
    published = Counter(
        (member.strategy or "", member.order or _ASSUMED[1])
        for member in snapshot.members.values()
        if member.is_zkgroup
    )
    notes: list[str] = []
    if len(published) > 1:
        said = ", ".join(
            f"{strategy} ({order}) by {n}" for (strategy, order), n in published.items()
        )
        notes.append(
            f"members assign by different rules: {said}. Set partition.assignment.strategy and "
            "partition.assignment.order alike in all of them"
        )
    if not published:
        if snapshot.members:
            notes.append(f"JVM members do not say how they assign: {_ASSUMED[0]} is assumed")
        return (*_ASSUMED, tuple(notes))
    (strategy, order), _ = published.most_common(1)[0]
    return strategy, order, tuple(notes)


def _partition(
    partition: TopicPartition, facts: GroupFacts, wanted: ThreadId | None, end: int | None
) -> PartitionRow:
    owner = facts.owners.get(partition)
    text = None if owner is None else owner.data.decode("utf-8", "replace")
    raw = facts.offsets.get(partition)
    committed = None if raw is None else parse_offset(raw)
    trouble = None
    if raw is not None and committed is None:
        trouble = f"its offset node holds {raw[:40]!r}, which is no offset"
    return PartitionRow(
        partition,
        _state(text, wanted, facts),
        text,
        None if owner is None else owner.made_ms,
        None if wanted is None else str(wanted),
        committed,
        end,
        trouble,
    )


def _state(owner: str | None, wanted: ThreadId | None, facts: GroupFacts) -> State:
    if owner is None:
        return "unread" if wanted is None else "free"
    consumer = consumer_of(owner)
    if consumer not in facts.ids:
        return "stuck"
    return "owned" if wanted is not None and wanted.consumer == consumer else "moving"


def _members(
    facts: GroupFacts, snapshot: Snapshot, rows: tuple[PartitionRow, ...]
) -> tuple[MemberRow, ...]:
    owned = Counter(row.member for row in rows if row.member is not None)
    return tuple(
        _member(
            consumer,
            facts.ids[consumer],
            owned[consumer],
            snapshot.members.get(consumer),
            snapshot.skipped.get(consumer),
        )
        for consumer in sorted(facts.ids, key=compare_key)
    )


def _member(
    consumer: str, seen: Seen, owns: int, registration: Registration | None, trouble: str | None
) -> MemberRow:
    if registration is None:
        return MemberRow(
            consumer, "unreadable", seen.session, seen.made_ms, owns, trouble=trouble or "?"
        )
    entries = dict(registration.subscription.entries)
    return MemberRow(
        consumer,
        "zkgroup" if registration.is_zkgroup else "jvm",
        seen.session,
        seen.made_ms,
        owns,
        max(entries.values(), default=0),
        registration.subscription.pattern,
        entries,
        registration.strategy,
        registration.order,
        registration.static_id,
    )
