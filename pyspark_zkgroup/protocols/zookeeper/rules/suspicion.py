"""Partitions that nobody reads although our target gives them to someone.

JVM members do not publish their strategy. One that assigns differently gives a partition to a
member that, by its own count, has nothing to do with it: no one claims it, at every boundary anew.
That is all that can be seen of it, so after a few boundaries the partition is named.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.model import ThreadId, TopicPartition

BOUNDARIES = 3


@dataclass(frozen=True, slots=True)
class Unread:
    """For how many boundaries in a row each partition had a thread in our target and no owner."""

    boundaries: Mapping[TopicPartition, int] = field(default_factory=dict)

    def after(
        self, target: Mapping[TopicPartition, ThreadId], owned: Collection[TopicPartition]
    ) -> Unread:
        """One boundary later. A partition that got an owner, or left the target, starts anew."""
        return Unread(
            {
                partition: self.boundaries.get(partition, 0) + 1
                for partition in target
                if partition not in owned
            }
        )

    @property
    def suspects(self) -> tuple[TopicPartition, ...]:
        """Unread for three boundaries or more."""
        return tuple(
            sorted(partition for partition, n in self.boundaries.items() if n >= BOUNDARIES)
        )

    @property
    def newly_suspect(self) -> tuple[TopicPartition, ...]:
        """Unread for exactly three boundaries: those to name now, so that each is named once."""
        return tuple(
            sorted(partition for partition, n in self.boundaries.items() if n == BOUNDARIES)
        )


def text(partition: TopicPartition, thread: ThreadId, strategy: str, order: str) -> str:
    """The line that names one suspect."""
    rule = f"{strategy} ({order} order)" if strategy == "roundrobin" else strategy
    return (
        f"{partition} has had no owner for {BOUNDARIES} boundaries, though by {rule} it belongs to "
        f"{thread}: that member may have given up waiting (a JVM member does after "
        f"rebalance.max.retries), or some member assigns by another partition.assignment.strategy, "
        f"or orders its round-robin differently (JVM members before and after 1.0 do)"
    )


def busy_text(partition: TopicPartition, thread: ThreadId) -> str:
    """The line where the target's member is a zkgroup one: its strategy is known to be ours."""
    return (
        f"{partition} has had no owner for {BOUNDARIES} boundaries: it belongs to {thread}, which "
        f"claims it at its next boundary, so its batch under way takes long or is stuck, or "
        f"something keeps it from claiming, which its log names"
    )
