"""The batches that Spark has logged and that are not committed yet, by partition."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_zkgroup.model import TopicPartition
from tests.sim.query import Batch, Query


class InFlight:
    def __init__(self) -> None:
        self._batches: dict[TopicPartition, list[Batch]] = {}

    def __iter__(self) -> Iterator[tuple[TopicPartition, Batch]]:
        for partition, batches in self._batches.items():
            for batch in batches:
                yield partition, batch

    def add(self, partition: TopicPartition, batch: Batch) -> None:
        self._batches.setdefault(partition, []).append(batch)

    def excuse(self, partition: TopicPartition, reason: str, query: Query | None = None) -> None:
        """Of all queries, or of one."""
        for batch in self._batches.get(partition, ()):
            if query is None or batch.query is query:
                batch.excuses.setdefault(partition, []).append(reason)

    def excuse_all(self, query: Query, reason: str) -> None:
        for partition in self._batches:
            self.excuse(partition, reason, query)

    def settle(self, partition: TopicPartition, value: int, epoch: int) -> None:
        """The group's offset is committed up to there."""
        still = []
        for batch in self._batches.get(partition, ()):
            if value >= batch.ranges[partition].range.until and batch.epochs[partition] == epoch:
                batch.committed.add(partition)
            else:
                still.append(batch)
        if still:
            self._batches[partition] = still
        else:
            self._batches.pop(partition, None)
