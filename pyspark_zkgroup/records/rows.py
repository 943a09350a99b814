"""Rows on their way into one Arrow batch."""

from __future__ import annotations

import pyarrow as pa

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.records.decoder import HEADER_BYTES
from pyspark_zkgroup.records.record_batch import Record
from pyspark_zkgroup.schema import arrow_schema

Headers = list[tuple[str, bytes | None]]

# The Arrow column holds microseconds, a record milliseconds, both in 64 bits.
TIMESTAMP_MS_MAX = (2**63 - 1) // 1000


def headers_bytes(headers: Headers) -> int:
    return sum(HEADER_BYTES + len(key.encode()) + len(value or b"") for key, value in headers)


class Rows:
    """Columns as lists; `bytes` counts what keys, values and headers take."""

    def __init__(self, *, headers: bool = False) -> None:
        self.headers: list[Headers | None] | None = [] if headers else None
        self.keys: list[bytes | None] = []
        self.values: list[bytes | None] = []
        self.offsets: list[int] = []
        self.timestamps_ms: list[int] = []
        self.bytes = 0
        self.topic_bytes = 0
        self._topics: list[str] = []
        self._partitions: list[int] = []
        self._timestamp_types: list[int] = []

    def __len__(self) -> int:
        return len(self.offsets)

    def append(self, record: Record, headers: Headers | None, size: int, topic_bytes: int) -> None:
        self.keys.append(record.key)
        self.values.append(record.value)
        self.offsets.append(record.offset)
        self.timestamps_ms.append(record.timestamp_ms)
        if self.headers is not None:
            self.headers.append(headers)
        self.bytes += size
        self.topic_bytes += topic_bytes

    def fill(self, partition: TopicPartition, timestamp_type: int) -> None:
        """Gives the rows that were appended since the last call what they have in common."""
        count = len(self.offsets) - len(self._topics)
        self._topics += [partition.topic] * count
        self._partitions += [partition.partition] * count
        self._timestamp_types += [timestamp_type] * count

    def to_arrow(self) -> pa.RecordBatch:
        schema = arrow_schema(self.headers is not None)
        timestamps_ms = pa.array(self.timestamps_ms, pa.timestamp("ms", tz="UTC"))
        columns = [
            pa.array(self.keys, pa.binary()),
            pa.array(self.values, pa.binary()),
            pa.array(self._topics, pa.string()),
            pa.array(self._partitions, pa.int32()),
            pa.array(self.offsets, pa.int64()),
            timestamps_ms.cast(schema.field("timestamp").type),
            pa.array(self._timestamp_types, pa.int32()),
        ]
        if self.headers is not None:
            columns.append(pa.array(self.headers, schema.field("headers").type))
        return pa.RecordBatch.from_arrays(columns, schema=schema)
