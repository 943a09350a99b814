"""Who shall own what, for somebody outside of the group: by the rule that its members publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.coordination.sticky import STICKY, assign_sticky
from pyspark_zkgroup.group.registration import Registration
from pyspark_zkgroup.group.snapshot import Snapshot, expand
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import ThreadId, TopicPartition

_ASSUMED = ("range", "new")


@dataclass(frozen=True, slots=True)
class Wanted:
    """`is_known`: one rule, which the members have published; else it is the likeliest one's, and
    `conflict` says that they differ, if they do.
    """

    threads: Mapping[TopicPartition, ThreadId]
    is_known: bool
    notes: tuple[str, ...] = ()
    conflict: tuple[str, ...] = ()


def wanted_by_rule(
    snapshot: Snapshot,
    current: Mapping[TopicPartition, ThreadId],
    exclude_internal: bool,
    *,
    is_mixed: bool,
) -> Wanted:
    """`current` counts where a coordinator decides: as one would that knew no more than the nodes.
    `is_mixed`: there are members that do not follow each other's rule, which is said elsewhere.
    """
    rules = published(snapshot)
    (strategy, order), _ = rules.most_common(1)[0] if rules else (_ASSUMED, 0)
    is_known = len(rules) == 1 and not is_mixed
    conflict = _conflict(rules) if len(rules) > 1 and not is_mixed else ()
    notes: tuple[str, ...] = ()
    if snapshot.members and not rules:
        notes = (f"JVM members do not say how they assign: {_ASSUMED[0]} is assumed",)
    try:
        if strategy == STICKY:
            threads = expand(snapshot, exclude_internal)
            partitions = {topic: snapshot.topics.get(topic, ()) for topic in threads}
            wanted = assign_sticky(partitions, threads, current)
        else:
            wanted = target(snapshot, strategy, order, exclude_internal)
    except AssignmentError as error:
        notes = (*notes, f"who shall own what cannot be said: {error}")
        return Wanted({}, False, notes, conflict)
    return Wanted(wanted, is_known, notes, conflict)


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
