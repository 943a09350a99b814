"""Finds partitions that have no reader although our target assigns them to a thread.

JVM members do not publish their strategy. One that assigns differently leaves a partition to a
member that, by its own calculation, must not read it. So no member claims the partition, at any
boundary. Nothing else can be seen of it, so the partition is logged after a few boundaries.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.model import ThreadId, TopicPartition

BOUNDARIES = 3


@dataclass(frozen=True, slots=True)
class Unread:
    """How many boundaries in a row each partition had a thread in our target and no owner."""

    boundaries: Mapping[TopicPartition, int] = field(default_factory=dict)

    def after(
        self, target: Mapping[TopicPartition, ThreadId], owned: Collection[TopicPartition]
    ) -> Unread:
        """Count one more boundary. A partition that got an owner, or left the target, restarts at
        0.
        """
        return Unread(
            {
                partition: self.boundaries.get(partition, 0) + 1
                for partition in target
                if partition not in owned
            }
        )

    @property
    def suspects(self) -> tuple[TopicPartition, ...]:
        """Return what was unread for three boundaries or more."""
        return tuple(
            sorted(partition for partition, n in self.boundaries.items() if n >= BOUNDARIES)
        )

    @property
    def newly_suspect(self) -> tuple[TopicPartition, ...]:
        """Return what was unread for exactly three boundaries: so each is logged once."""
        return tuple(
            sorted(partition for partition, n in self.boundaries.items() if n == BOUNDARIES)
        )


def text(partition: TopicPartition, thread: ThreadId, strategy: str, order: str) -> str:
    """Return the line about one suspect."""
    rule = f"{strategy} ({order} order)" if strategy == "roundrobin" else strategy
    return (
        f"{partition} has had no owner for {BOUNDARIES} boundaries. The strategy {rule} assigns it "
        f"to {thread}. That member may have stopped waiting for it (a JVM member does after "
        f"rebalance.max.retries), or a member uses another partition.assignment.strategy, or "
        f"another order of roundrobin (JVM members before and after 1.0 differ)"
    )


def busy_text(partition: TopicPartition, thread: ThreadId) -> str:
    """Return the line if the target's member is a zkgroup one: its strategy is known to be ours."""
    return (
        f"{partition} has had no owner for {BOUNDARIES} boundaries. It is assigned to {thread}, "
        f"which claims it when its current batch ends. That batch takes long or is stuck, or the "
        f"claim fails for a reason that the member's log names"
    )
