"""What one member stands on while its session lives: what it knows, what it holds, and where it
asks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.zk.store import Store


@dataclass(slots=True)
class Holdings:
    """`known` outlives a session, `held` does not.

    `remembered` has the checkpoint's positions, for offset nodes that are lost altogether.
    `doubtful` are claims that were never answered: the node may be there, or may come. `parked` are
    finished ranges that cannot be settled before their JVM owner has moved on. `dropped` counts
    partitions lost to somebody else. `committed_at` is when an offset was last moved, by the
    monotonic clock.
    """

    known: dict[TopicPartition, Known] = field(default_factory=dict)
    held: dict[TopicPartition, Held] = field(default_factory=dict)
    remembered: dict[TopicPartition, int] = field(default_factory=dict)
    doubtful: set[TopicPartition] = field(default_factory=set)
    parked: set[TopicPartition] = field(default_factory=set)
    dropped: int = 0
    committed_at: float = float("-inf")

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
class Footing:
    store: Store
    paths: GroupPaths
    consumer: str
    static: bool
    holdings: Holdings

    @property
    def session(self) -> int:
        return self.store.session.id

    def thread(self, number: int) -> ThreadId:
        return ThreadId(self.consumer, number)
