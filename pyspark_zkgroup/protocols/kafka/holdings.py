"""What a member of a broker's group knows of partitions, and which it holds; with the tokens its
writes bear.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pyspark_zkgroup.model import Fence, TopicPartition
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupProgress


@dataclass(slots=True)
class KafkaHoldings:
    """`known` outlives a membership, `held` does not: it belongs to `life`. `waiting` says for each
    partition that is assigned and not held, why. `replayed` was included in a replay, and nothing
    of it is committed yet.
    """

    known: dict[TopicPartition, GroupProgress] = field(default_factory=dict)
    held: set[TopicPartition] = field(default_factory=set)
    waiting: dict[TopicPartition, str] = field(default_factory=dict)
    replayed: set[TopicPartition] = field(default_factory=set)
    life: int = 0
    dropped: int = 0

    @property
    def unsettled(self) -> bool:
        return any(self.known[p].unsettled for p in self.held)

    def finish(self, done: Mapping[TopicPartition, int]) -> None:
        """Note up to where the planner's batches are done."""
        for partition, until in done.items():
            at = self.known.get(partition)
            if at is not None and until > at.done:
                self.known[partition] = replace(at, done=until)

    def lose(self, life: int) -> None:
        """Membership is lost: what we know stays, and settles what comes back untouched."""
        self.life = life
        self.dropped += len(self.held)
        self.held.clear()
        self.replayed.clear()
        self.waiting.clear()

    def give_back(self, partition: TopicPartition) -> None:
        """What is committed is the group's to know from here on."""
        self.held.discard(partition)
        self.replayed.discard(partition)
        if not self.known[partition].unsettled:
            del self.known[partition]


class Tokens:
    """Each a new one, in all processes: `name` is this incarnation's own."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._numbers: Iterator[int] = count()

    def next(self) -> Fence:
        return Fence(f"{self._name}.{next(self._numbers)}")
