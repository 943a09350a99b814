"""The target owners as seen from outside of the group: by the rule that its members publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.balance import STICKY, balanced
from pyspark_zkgroup.group.snapshot import Snapshot, expand
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition

_ASSUMED = ("range", "new")
_MIXED = "unknown: members of two protocols"
_DIVIDED = "unknown: members assign by different rules"
_HEADLESS = "none: no coordinator is in office"
_IMPOSSIBLE = "unknown: its members cannot be assigned together"


@dataclass(frozen=True, slots=True)
class Wanted:
    """`is_known`: by one rule, which the members have published, or by the commands of their
    coordinator; else it is assumed. `undecided` has the reasons for partitions that members read
    and whose target cannot be known; `conflict` says that their rules differ, if they do.
    """

    threads: Mapping[TopicPartition, ThreadId]
    is_known: bool
    notes: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()
    undecided: Mapping[TopicPartition, str] = field(default_factory=dict)


def wanted_by_rule(
    snapshot: Snapshot,
    current: Mapping[TopicPartition, ThreadId],
    exclude_internal: bool,
    *,
    is_mixed: bool,
    is_headless: bool,
) -> Wanted:
    """`current` counts where a coordinator decides: as one would that knew no more than the nodes.
    `is_mixed`: there are members that do not follow each other's rule; `is_headless`: they need a
    coordinator, and there is none. Other notes report both.
    """
    if is_mixed:
        return Wanted({}, False, undecided=_left(snapshot, exclude_internal, _MIXED))
    if is_headless:
        told = {p: t for p, t in current.items() if t.consumer in snapshot.members}
        left = _left(snapshot, exclude_internal, _HEADLESS)
        return Wanted(told, True, undecided={p: left[p] for p in left.keys() - told.keys()})
    rules = published(snapshot)
    if len(rules) > 1:
        left = _left(snapshot, exclude_internal, _DIVIDED)
        return Wanted({}, False, conflict=_conflict(rules), undecided=left)
    (strategy, order), _ = rules.most_common(1)[0] if rules else (_ASSUMED, 0)
    notes: tuple[str, ...] = ()
    if snapshot.members and not rules:
        notes = (f"JVM members do not say how they assign: {_ASSUMED[0]} is assumed",)
    try:
        if strategy == STICKY:
            threads = expand(snapshot, exclude_internal)
            partitions = {topic: snapshot.topics.get(topic, ()) for topic in threads}
            wanted = balanced(partitions, threads, current)
        else:
            wanted = target(snapshot, strategy, order, exclude_internal)
    except AssignmentError as error:
        notes = (*notes, f"the target assignment is not known: {error}")
        left = _left(snapshot, exclude_internal, _IMPOSSIBLE)
        return Wanted({}, False, notes, undecided=left)
    return Wanted(wanted, bool(rules), notes)


def _left(snapshot: Snapshot, exclude_internal: bool, reason: str) -> dict[TopicPartition, str]:
    """All that members read."""
    return {
        TopicPartition(topic, number): reason
        for topic in expand(snapshot, exclude_internal)
        for number in snapshot.topics.get(topic, ())
    }


def rule_of(member: Registration) -> tuple[str, str]:
    """Strategy and order of a zkgroup member. The order decides nothing but under round-robin."""
    order = member.order if member.strategy == "roundrobin" else None
    return member.strategy or "", order or _ASSUMED[1]


def published(snapshot: Snapshot) -> Counter[tuple[str, str]]:
    """How many members go by each rule. Only zkgroup members say theirs; JVM members are
    believed.
    """
    return Counter(rule_of(member) for member in snapshot.members.values() if member.is_zkgroup)


def _conflict(rules: Counter[tuple[str, str]]) -> tuple[str, ...]:
    said = ", ".join(f"{name} ({order}) by {n}" for (name, order), n in rules.items())
    return (
        f"members assign by different rules: {said}. Set partition.assignment.strategy and "
        "partition.assignment.order alike in all of them",
    )
