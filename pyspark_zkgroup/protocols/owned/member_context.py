"""What one member stands on while its session lives: what it knows, what it holds, and where it
asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from pyspark_zkgroup.zk.port import NodeStore


@dataclass(slots=True)
class Holdings:
    """`known` outlives a session, `held` does not.

    `remembered` has positions for offset nodes that are lost altogether: the checkpoint's, and what
    was held once. `stale` are those that somebody else has read on from since; `lost_topics` those
    of which an offset node is gone that this query knows of.
    `doubtful` are claims that were never answered: the node may be there, or may come. `parked` are
    finished ranges that cannot be settled before their JVM owner has moved on. `dropped` counts
    partitions lost to somebody else. `committed_at` is when an offset was last moved, by the
    monotonic clock.
    """

    known: dict[TopicPartition, Known] = field(default_factory=dict)
    held: dict[TopicPartition, Held] = field(default_factory=dict)
    remembered: dict[TopicPartition, int] = field(default_factory=dict)
    stale: set[TopicPartition] = field(default_factory=set)
    lost_topics: set[str] = field(default_factory=set)
    doubtful: set[TopicPartition] = field(default_factory=set)
    parked: set[TopicPartition] = field(default_factory=set)
    dropped: int = 0
    committed_at: float = float("-inf")

    def position_of(self, partition: TopicPartition) -> int | None:
        """Up to where this query knows the partition to be done."""
        known = self.known.get(partition)
        return known.done if known is not None else self.remembered.get(partition)

    def finish(self, done: Mapping[TopicPartition, int]) -> None:
        """Of what is known, this much is read and sunk."""
        for partition, until in done.items():
            known = self.known.get(partition)
            if known is not None:
                self.known[partition] = replace(known, done=until)

    def set_aside(self, partition: TopicPartition) -> None:
        """Not held, and nobody else is known to read it: its position is still the truth."""
        position = self.position_of(partition)
        if position is not None:
            self.remembered[partition] = position
        self.forget(partition)

    def hand_on(self, partition: TopicPartition) -> None:
        """Somebody else reads on from here, or has done so."""
        self.set_aside(partition)
        self.stale.add(partition)

    def lose_node(self, partition: TopicPartition) -> None:
        """The offset node is gone: what this query knows is made the group's again."""
        self.set_aside(partition)
        self.lost_topics.add(partition.topic)

    def forget(self, partition: TopicPartition) -> None:
        self.held.pop(partition, None)
        self.known.pop(partition, None)
        self.parked.discard(partition)

    def lose_session(self) -> None:
        self.held.clear()
        self.doubtful.clear()
        self.parked.clear()

    @property
    def unsettled(self) -> bool:
        """Whether finished work waits to be committed, and can be."""
        return any(
            known.unsettled or known.doubt is not None
            for partition, known in self.known.items()
            if partition not in self.parked
        )


@dataclass(frozen=True, slots=True)
class MemberContext:
    store: NodeStore
    paths: GroupPaths
    consumer: str
    static: bool
    holdings: Holdings
    clock: EventClock
    callback: RebalanceCallback

    @property
    def session(self) -> int:
        return self.store.session.id

    def thread(self, number: int) -> ThreadId:
        return ThreadId(self.consumer, number)
