"""Rows on their way into one Arrow batch."""

from __future__ import annotations

import pyarrow as pa

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.schema import arrow_schema

# The Arrow column holds microseconds, a record milliseconds, both in 64 bits.
TIMESTAMP_MS_MAX = (2**63 - 1) // 1000


class Rows:
    """Columns as lists; `bytes` counts what keys and values take."""

    def __init__(self) -> None:
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.offsets: list[int] = []
        self.timestamps_ms: list[int] = []
        self.bytes = 0
        self._topics: list[str] = []
        self._partitions: list[int] = []
        self._timestamp_types: list[int] = []

    def __len__(self) -> int:
        return len(self.offsets)

    def fill(self, partition: TopicPartition, timestamp_type: int) -> None:
        """Gives the rows that were appended since the last call what they have in common."""
        count = len(self.offsets) - len(self._topics)
        self._topics += [partition.topic] * count
        self._partitions += [partition.partition] * count
        self._timestamp_types += [timestamp_type] * count

    def to_arrow(self) -> pa.RecordBatch:
        schema = arrow_schema()
        timestamps_ms = pa.array(self.timestamps_ms, pa.timestamp("ms", tz="UTC"))
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self.keys, pa.binary()),
                pa.array(self.values, pa.binary()),
                pa.array(self._topics, pa.string()),
                pa.array(self._partitions, pa.int32()),
                pa.array(self.offsets, pa.int64()),
                timestamps_ms.cast(schema.field("timestamp").type),
                pa.array(self._timestamp_types, pa.int32()),
            ],
            schema=schema,
        )
