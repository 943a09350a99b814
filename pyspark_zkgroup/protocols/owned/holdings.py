"""What one member knows about partitions, and the partitions that it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from pyspark_zkgroup.group.ownership import Held, Known, fence_of
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.rules.outcomes import Change, Fate
from pyspark_zkgroup.protocols.port import Position


@dataclass(slots=True)
class Holdings:
    """`known` outlives a session, `held` does not.

    `remembered` has positions for offset nodes that are lost: the checkpoint's, and those of former
    holdings. `stale` are those that another member has read on from since. `lost_topics` are topics
    with a lost offset node that this query knows. `doubtful` are claims that were never answered:
    the node may exist, or be created later. `parked` are finished ranges that cannot be settled
    until their JVM owner has committed or gone. `dropped` counts partitions lost to other clients.
    `committed_at` is the monotonic time of the last commit.
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

    def apply(self, changes: Iterable[Change | None]) -> None:
        for change in changes:
            if change is None:
                continue
            partition = change.partition
            if change.known is not None:
                self.known[partition] = change.known
            if change.held is not None:
                self.held[partition] = change.held
            if change.doubtful:
                self.doubtful.add(partition)
            if change.fate is Fate.CLAIMED:
                self.parked.discard(partition)
                self.stale.discard(partition)
            elif change.fate is Fate.UNHELD:
                self.held.pop(partition, None)
            elif change.fate is Fate.PARKED:
                self.parked.add(partition)
            elif change.fate is Fate.SET_ASIDE:
                self.set_aside(partition)
            elif change.fate is Fate.HANDED_ON:
                self.hand_on(partition)
            elif change.fate is Fate.NODE_LOST:
                self.lose_node(partition)

    def position_of(self, partition: TopicPartition) -> int | None:
        """Return the offset up to which this query has finished the partition."""
        known = self.known.get(partition)
        return known.done if known is not None else self.remembered.get(partition)

    def positions(self, without: Collection[str]) -> dict[TopicPartition, Position]:
        """Return the offsets from which to read what is held, without these topics."""
        return {
            p: Position(known.done, held.thread, fence_of(known.fence, known.doubt))
            for p, held in self.held.items()
            if p.topic not in without and (known := self.known.get(p)) is not None
        }

    def finish(self, done: Mapping[TopicPartition, int]) -> None:
        """Note that this much of what is known is read and written to the sink."""
        for partition, until in done.items():
            known = self.known.get(partition)
            if known is not None:
                self.known[partition] = replace(known, done=until)

    def set_aside(self, partition: TopicPartition) -> None:
        """It is not held, and no other member is known to read it: its position is still valid."""
        position = self.position_of(partition)
        if position is not None:
            self.remembered[partition] = position
        self.forget(partition)

    def hand_on(self, partition: TopicPartition) -> None:
        """Another member reads on from here, or has done so."""
        self.set_aside(partition)
        self.stale.add(partition)

    def lose_node(self, partition: TopicPartition) -> None:
        """The offset node is gone: the position that this query knows becomes the group's again."""
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
        """Return whether finished work waits to be committed, and can be."""
        return any(
            known.unsettled or known.doubt is not None
            for partition, known in self.known.items()
            if partition not in self.parked
        )
