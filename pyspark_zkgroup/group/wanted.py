"""Who shall own what, for somebody outside of the group: by the rule that its members publish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.coordination.sticky import STICKY, assign_sticky
from pyspark_zkgroup.group.snapshot import Snapshot, expand
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import ThreadId, TopicPartition

_ASSUMED = ("range", "new")


@dataclass(frozen=True, slots=True)
class Wanted:
    """`is_known`: one rule, which the members have published; else it is the likeliest one's."""

    threads: Mapping[TopicPartition, ThreadId]
    is_known: bool
    notes: tuple[str, ...] = ()


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
    strategy, order, is_known, notes = _rule(snapshot, is_mixed)
    try:
        if strategy == STICKY:
            threads = expand(snapshot, exclude_internal)
            partitions = {topic: snapshot.topics.get(topic, ()) for topic in threads}
            return Wanted(assign_sticky(partitions, threads, current), is_known, notes)
        return Wanted(target(snapshot, strategy, order, exclude_internal), is_known, notes)
    except AssignmentError as error:
        return Wanted({}, False, (*notes, f"who shall own what cannot be said: {error}"))


def _rule(snapshot: Snapshot, is_mixed: bool) -> tuple[str, str, bool, tuple[str, ...]]:
    """Only zkgroup members publish it; JVM members are believed."""
    published = Counter(
        (member.strategy or "", member.order or _ASSUMED[1])
        for member in snapshot.members.values()
        if member.is_zkgroup
    )
    if not published:
        said = f"JVM members do not say how they assign: {_ASSUMED[0]} is assumed"
        return (*_ASSUMED, False, (said,) if snapshot.members else ())
    (strategy, order), _ = published.most_common(1)[0]
    if len(published) == 1 or is_mixed:
        return strategy, order, not is_mixed, ()
    rules = ", ".join(f"{name} ({order}) by {n}" for (name, order), n in published.items())
    note = (
        f"members assign by different rules: {rules}. Set partition.assignment.strategy and "
        "partition.assignment.order alike in all of them"
    )
    return strategy, order, False, (note,)
