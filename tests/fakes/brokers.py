"""Brokers as a membership sees them, without a server: log starts and ends that a test sets."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.model import TopicPartition


class FakeBrokers:
    def __init__(self, topics: Mapping[str, int], end: int = 100) -> None:
        self.topics = dict(topics)
        self.starts: dict[TopicPartition, int] = {}
        self.latest_of: dict[TopicPartition, int] = {}
        self.end = end

    def found(self, addresses: Collection[str]) -> None:
        raise AssertionError(f"nobody registers here: {addresses}")

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        return {topic: tuple(range(count)) for topic, count in self.topics.items()}

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: self.starts.get(p, 0) for p in partitions if p.topic in self.topics}

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return {p: self.latest_of.get(p, self.end) for p in partitions if p.topic in self.topics}

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return self.latest(partitions)
