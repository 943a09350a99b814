"""Positions given by time: the first record of that time or later, in milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark_zkgroup.model import TopicPartition


@dataclass(frozen=True, slots=True)
class Times:
    """`every` is for all partitions; otherwise `partitions` names all of them."""

    every: int | None = None
    partitions: tuple[tuple[TopicPartition, int], ...] = ()

    def __post_init__(self) -> None:
        if (self.every is None) == (not self.partitions):
            raise ValueError("times are one for all, or one for each partition")
        named = [partition for partition, _ in self.partitions]
        if named != sorted(set(named)):
            raise ValueError("times must be sorted and name each partition once")
        if min(self.every or 0, *(at_ms for _, at_ms in self.partitions), 0) < 0:
            raise ValueError("a time is below 0")

    def of(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the time to look up in each partition, without those that are not named."""
        if self.every is not None:
            return dict.fromkeys(partitions, self.every)
        given = dict(self.partitions)
        return {p: given[p] for p in partitions if p in given}
