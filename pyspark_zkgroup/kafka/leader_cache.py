"""Which broker leads which partition, as far as it is known. No input or output, no clock.

A former leader that is cut off from the controller, but not from its clients, continues to answer:
its log no longer grows, and what it tells is believed. So a leader is known for five minutes only,
as in Kafka's own clients; the next answer is taken from another broker, if there is one, or from
each in turn where all of them are in doubt; and within one life of a topic an answer with an older
leader epoch than one already seen is not taken.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.model import NO_MARK, Mark, TopicPartition

AGE_MAX_S = 300.0
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class Leader:
    """`mark`: the topic's id and the epoch under which this broker leads the partition."""

    node: int
    mark: Mark = NO_MARK
    learnt_at: float = 0.0


class Leaders(Mapping[TopicPartition, Leader]):
    """What is remembered, however old. `former` are those that were doubted since."""

    def __init__(self) -> None:
        self._known: dict[TopicPartition, Leader] = {}
        self._former: dict[TopicPartition, Leader] = {}
        self._brokers: frozenset[int] = frozenset()
        self._told_by: int | None = None

    def __getitem__(self, partition: TopicPartition) -> Leader:
        return self._known[partition]

    def __iter__(self) -> Iterator[TopicPartition]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def is_fresh(self, partition: TopicPartition, now: float) -> bool:
        leader = self._known.get(partition)
        return leader is not None and now < leader.learnt_at + AGE_MAX_S

    def heard(self, broker: int | None, brokers: Collection[int]) -> None:
        """Who has told last, and of which brokers."""
        self._told_by, self._brokers = broker, frozenset(brokers)

    def asked_last(self, partitions: Iterable[TopicPartition]) -> frozenset[int]:
        """The brokers that are not to be asked who leads these, as they say that they do. Where
        that is every broker, it is the one that has told before.
        """
        seen = [self._known.get(p) or self._former.get(p) for p in partitions]
        doubted = frozenset(leader.node for leader in seen if leader is not None) - {_NOBODY}
        if self._told_by is not None and doubted >= self._brokers:
            return frozenset([self._told_by])
        return doubted

    def learn(self, partition: TopicPartition, leader: Leader) -> bool:
        """False where an answer is older than what is known."""
        before = self._known.get(partition) or self._former.get(partition)
        if before is not None and leader.mark.is_older_than(before.mark):
            return False
        self._known[partition] = leader
        self._former.pop(partition, None)
        return True

    def expect(self, partition: TopicPartition, mark: Mark) -> None:
        """This epoch was seen elsewhere: a leader with an older one is no longer the leader."""
        before = self._known.get(partition) or self._former.get(partition)
        if before is None or before.mark.is_older_than(mark):
            self._known.pop(partition, None)
            self._former[partition] = Leader(before.node if before else _NOBODY, mark)

    def forget(self, partition: TopicPartition) -> None:
        leader = self._known.pop(partition, None)
        if leader is not None:
            self._former[partition] = leader
