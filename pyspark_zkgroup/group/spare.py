"""Why a member with existing topics gets no partition, and what to change."""

from __future__ import annotations

from pyspark_zkgroup.group.snapshot import Snapshot, expand, topics_of
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.registration import Registration

_SPARE = "A spare member takes over when another one ends. To give it partitions, "
_RANGE_WITH_JVM = (
    "set partition.assignment.strategy to roundrobin in all members, JVM consumers included, or "
    "lower their threads"
)
_RANGE = (
    "leave partition.assignment.strategy at its default (balanced) in all members, and restart "
    "those of older releases with this one"
)


def why_spare(snapshot: Snapshot, registration: Registration) -> tuple[str, str]:
    """Return the reason, then the remedy. At least one topic of the member has partitions."""
    hidden = () if registration.internal else patterns.INTERNAL_TOPICS
    named = topics_of(registration.subscription, snapshot.topics, hidden)
    sizes = {topic: len(snapshot.topics[topic]) for topic, _ in named if snapshot.topics.get(topic)}
    readers = expand(snapshot, not registration.internal)
    threads = {thread for topic in sizes for thread in readers.get(topic, ())}
    members, total = len({thread.consumer for thread in threads}), sum(sizes.values())
    largest = max(sizes.values(), default=0)
    if registration.strategy == "range" and not snapshot.is_balanced and members <= total:
        has_jvm = any(not member.is_zkgroup for member in snapshot.members.values())
        return (
            f"range assigns each topic alone, to the first of {len(threads)} threads, and none of "
            f"its {len(sizes)} topics has that many partitions (at most {largest})",
            _SPARE + (_RANGE_WITH_JVM if has_jvm else _RANGE),
        )
    return (
        f"its topics have {total} partitions, and {members} members read them with {len(threads)} "
        "threads: the others have them all",
        _SPARE + "add partitions, or lower the threads of the other members",
    )
