"""Brokers as a membership sees them, without a server: log starts and ends that a test sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.model import NO_MARK, LogEnd, Mark, Sample, TopicPartition


class FakeBrokers:
    def __init__(self, topics: Mapping[str, int], end: int = 100) -> None:
        self.topics = dict(topics)
        self.starts: dict[TopicPartition, int] = {}
        self.latest_of: dict[TopicPartition, int] = {}
        self.end = end
        self.marks: dict[TopicPartition, Mark] = {}
        self.epoch_ends_of: dict[TopicPartition, int | None] = {}

    def found(self, addresses: Collection[str]) -> None:
        raise AssertionError(f"no broker registers here: {addresses}")

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        return {topic: tuple(range(count)) for topic, count in self.topics.items()}

    def lacks(self, held: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, bool]:
        there = self.partitions()
        return {p: True for p in held if p.partition not in there.get(p.topic, ())}

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogEnd]:
        marks = self.marks
        return {p: LogEnd(at, marks.get(p, NO_MARK)) for p, at in self.latest(partitions).items()}

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        return {p: self.epoch_ends_of[p] for p in epochs if p in self.epoch_ends_of}

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: self.starts.get(p, 0) for p in partitions if p.topic in self.topics}

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: self.latest_of.get(p, self.end) for p in partitions if p.topic in self.topics}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self.latest(partitions)

    def samples(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Sample]:
        return {p: Sample(1, 100) for p in self.latest(list(positions))}

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        """The record of each offset has that offset as its time."""
        starts, ends = self.earliest(list(times)), self.latest(list(times))
        return {p: max(times[p], starts[p]) if times[p] < ends[p] else None for p in ends}
