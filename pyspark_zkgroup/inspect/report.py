"""What a group looks like from outside: its members, who owns what, and how far they are.

Made from what was read at one time. A group during a rebalance shows both the current and the
target owners: a partition owned by one member and wanted by another is moving, which is no fault.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.group.ownership import consumer_of, parse_offset, thread_of
from pyspark_zkgroup.group.paths import GroupPaths, coordinated_ids
from pyspark_zkgroup.group.snapshot import Snapshot, expand, read_registrations
from pyspark_zkgroup.inspect import remarks
from pyspark_zkgroup.inspect.rows import (
    GroupProtocol,
    GroupReport,
    MemberRow,
    PartitionRow,
    Protocol,
    State,
    Waiting,
)
from pyspark_zkgroup.inspect.wanted import Wanted, wanted_by_rule
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import Command
from pyspark_zkgroup.protocols.coordinator.rules.incumbent import (
    incumbent_of,
    newest,
    standing,
    told,
)


@dataclass(frozen=True, slots=True)
class Seen:
    """A node as it was read; `session` is 0 for one that is not ephemeral. `life`: the transaction
    that made it.
    """

    data: bytes
    session: int
    made_ms: int
    life: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """When an offset node was made and last written, and the transaction that made it."""

    made_ms: int
    at_ms: int
    life: int = 0


@dataclass(frozen=True, slots=True)
class GroupFacts:
    """All nodes of a group. `topics` are those of the cluster that its members may mean; `written`
    tells of the nodes of `offsets`.

    `told` are those of its members that are registered where a coordinator tells them what to read;
    if there are any, `coordinator` is the node of the one in office, and `commands` has what stands
    in the channel of each, by path. `stirred`: members came and went all the while it was read.
    """

    group: str
    ids: Mapping[str, Seen] = field(default_factory=dict)
    topics: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    owners: Mapping[TopicPartition, Seen] = field(default_factory=dict)
    offsets: Mapping[TopicPartition, bytes] = field(default_factory=dict)
    told: frozenset[str] = frozenset()
    coordinator: Seen | None = None
    commands: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)
    stirred: bool = False
    written: Mapping[TopicPartition, Written] = field(default_factory=dict)

    @property
    def is_there(self) -> bool:
        return bool(self.ids or self.offsets or self.owners)


def report(
    facts: GroupFacts, ends: Mapping[TopicPartition, int], *, exclude_internal: bool = True
) -> GroupReport:
    snapshot = snapshot_of(facts)
    protocol = _protocol(facts)
    seat = facts.coordinator
    coordinator = None if seat is None else incumbent_of(seat.data, seat.life, seat.made_ms)
    commands, notes = _commands(facts)
    faults = remarks.faults(facts.ids.keys() - facts.told, facts.told, coordinator)
    notes += remarks.remarks(snapshot, coordinator, stirred=facts.stirred) + faults
    current = _current(facts, commands)
    shall = wanted_by_rule(
        snapshot,
        current,
        exclude_internal,
        is_mixed=protocol == "both",
        is_headless=protocol == "coordinator" and coordinator is None,
    )
    wanted = shall.threads
    every = wanted.keys() | shall.undecided.keys() | facts.owners.keys() | facts.offsets.keys()
    rows = tuple(
        _partition(p, facts, shall, current.get(p), ends.get(p))
        for p in sorted(every, key=lambda p: (compare_key(p.topic), p.partition))
    )
    waiting = _waiting(rows, wanted) if shall.is_known else None
    members = _members(facts, snapshot, rows, commands, waiting)
    faults += shall.conflict
    notes += shall.conflict + shall.notes
    return GroupReport(facts.group, members, rows, notes, protocol, coordinator, faults)


def _protocol(facts: GroupFacts) -> GroupProtocol | None:
    alone = facts.ids.keys() - facts.told
    if alone and facts.told:
        return "both"
    if facts.told:
        return "coordinator"
    return "zookeeper" if alone else None


def _commands(facts: GroupFacts) -> tuple[dict[str, tuple[Command, ...]], tuple[str, ...]]:
    found: dict[str, tuple[Command, ...]] = {}
    notes: list[str] = []
    for consumer, nodes in facts.commands.items():
        if consumer in facts.ids:
            found[consumer], troubles = standing(facts.ids[consumer].life, nodes)
            notes += troubles
    return found, tuple(notes)


def _current(
    facts: GroupFacts, commands: Mapping[str, tuple[Command, ...]]
) -> dict[TopicPartition, ThreadId]:
    """Return the readers: current ones, and those that received the command to begin; without
    partitions that they received the command to release.
    """
    current: dict[TopicPartition, ThreadId] = {}
    stopped: dict[str, set[TopicPartition]] = {}
    for consumer, ones in commands.items():
        share, stopped[consumer] = told(consumer, ones)
        current |= share
    for partition, seen in facts.owners.items():
        thread = thread_of(seen.data.decode("utf-8", "replace"))
        if thread is not None and partition not in stopped.get(thread.consumer, ()):
            current[partition] = thread
    return current


def _waiting(
    rows: tuple[PartitionRow, ...], wanted: Mapping[TopicPartition, ThreadId]
) -> dict[str, tuple[Waiting, ...]]:
    found: dict[str, list[Waiting]] = {}
    for row in rows:
        thread = wanted.get(row.partition)
        if row.state in ("moving", "stuck") and thread is not None and row.owner is not None:
            found.setdefault(thread.consumer, []).append(Waiting(row.partition, row.owner))
    return {consumer: tuple(waits) for consumer, waits in found.items()}


def topics_read(facts: GroupFacts, *, exclude_internal: bool = True) -> frozenset[str]:
    """The topics that members read, or have read."""
    of_nodes = {p.topic for p in (*facts.owners, *facts.offsets)}
    snapshot = snapshot_of(facts)
    named = {
        topic
        for member in snapshot.members.values()
        if not member.subscription.is_wildcard
        for topic, _ in member.subscription.entries
    }
    return frozenset(expand(snapshot, exclude_internal)) | named | of_nodes


def stuck(facts: GroupFacts) -> frozenset[TopicPartition]:
    """Those whose owner, whatever its node holds, is not registered."""
    return frozenset(
        partition
        for partition, owner in facts.owners.items()
        if not _is_registered(_owner_text(owner), facts)
    )


def snapshot_of(facts: GroupFacts) -> Snapshot:
    def path_of(consumer: str) -> str:
        if consumer in facts.told:
            return f"{coordinated_ids(facts.group)}/{consumer}"
        return GroupPaths(facts.group).id(consumer)

    ids = {consumer: seen.data for consumer, seen in facts.ids.items()}
    members, skipped = read_registrations(path_of, ids)
    return Snapshot(members, facts.topics, skipped)


def _partition(
    partition: TopicPartition,
    facts: GroupFacts,
    shall: Wanted,
    current: ThreadId | None,
    end: int | None,
) -> PartitionRow:
    wanted, undecided = shall.threads.get(partition), shall.undecided.get(partition)
    owner = facts.owners.get(partition)
    text = None if owner is None else _owner_text(owner)
    raw = facts.offsets.get(partition)
    committed = None if raw is None else parse_offset(raw)
    trouble = None
    if raw is not None and committed is None:
        trouble = f"its offset node holds {raw[:40]!r}, which is no offset"
    written = facts.written.get(partition)
    return PartitionRow(
        partition,
        _state(text, wanted if undecided is None else current, facts, is_undecided=bool(undecided)),
        text,
        None if owner is None else owner.made_ms,
        None if wanted is None else str(wanted),
        committed,
        end,
        trouble,
        None if written is None else written.at_ms,
        undecided,
    )


def _is_registered(owner: str, facts: GroupFacts) -> bool:
    return consumer_of(owner) in facts.ids


def _owner_text(owner: Seen) -> str:
    return owner.data.decode("utf-8", "replace")


def _state(
    owner: str | None, wanted: ThreadId | None, facts: GroupFacts, *, is_undecided: bool
) -> State:
    """What is not decided stays for now where it is."""
    if owner is None:
        return "free" if is_undecided or wanted is not None else "unread"
    if not _is_registered(owner, facts):
        return "stuck"
    return "owned" if wanted is not None and wanted.consumer == consumer_of(owner) else "moving"


def _members(
    facts: GroupFacts,
    snapshot: Snapshot,
    rows: tuple[PartitionRow, ...],
    commands: Mapping[str, tuple[Command, ...]],
    waiting: Mapping[str, tuple[Waiting, ...]] | None,
) -> tuple[MemberRow, ...]:
    owned = Counter(row.member for row in rows if row.member is not None)
    found = []
    for consumer in sorted(facts.ids, key=compare_key):
        registration = snapshot.members.get(consumer)
        row = _member(
            consumer,
            facts.ids[consumer],
            owned[consumer],
            registration,
            snapshot.skipped.get(consumer),
        )
        waits = None if waiting is None else waiting.get(consumer, ())
        if registration is not None:
            own = commands.get(consumer, ())
            protocol = _protocol_of(consumer, registration, facts)
            row = replace(
                row,
                protocol=protocol,
                generation=newest(registration, own) if protocol != "zookeeper" else None,
                unanswered=len(own) if protocol == "coordinator" else None,
                waiting=waits,
            )
        found.append(row)
    return tuple(found)


def _protocol_of(consumer: str, registration: Registration, facts: GroupFacts) -> Protocol:
    if consumer not in facts.told:
        return "zookeeper"
    return "coordinator" if registration.light is None else "light"


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
        registration.rule,
        registration.order if registration.strategy != "range" else None,
        registration.static_id,
    )
