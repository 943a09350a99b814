"""The batch that Spark has, or is about to get."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput

Offset = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """`ranges` are those that this member reads and has not committed. `is_begun`: Spark has asked
    for the tasks. Without an `end`, only the start of the next batch is known.
    """

    start: Offset | None = None
    end: Offset | None = None
    ranges: Mapping[TopicPartition, OffsetRange] = field(default_factory=dict)
    tasks: Sequence[TaskInput] = ()
    is_begun: bool = True

    @property
    def done(self) -> dict[TopicPartition, int]:
        return {p: r.until for p, r in self.ranges.items()}

    def begun(self) -> Batch:
        return replace(self, is_begun=True)

    def committed(self) -> Batch:
        return replace(self, ranges={})

    def not_taken(self) -> Batch:
        return replace(self, end=None, ranges={}, tasks=())
