"""Rows on their way into one Arrow batch."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.records.decoder import HEADER_BYTES
from pyspark_zkgroup.records.record_batch import Record
from pyspark_zkgroup.schema import Column, arrow_schema

Headers = list[tuple[str, bytes | None]]

# The Arrow column holds microseconds, a record milliseconds, both in 64 bits.
TIMESTAMP_MS_MAX = (2**63 - 1) // 1000


def headers_bytes(headers: Headers) -> int:
    return sum(HEADER_BYTES + len(key.encode()) + len(value or b"") for key, value in headers)


class Rows:
    """Columns as lists; `bytes` counts what those of keys, values and headers that are asked for
    take.
    """

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self.headers: list[Headers | None] = []
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
        schema = arrow_schema(self._columns)
        lists = {
            "key": self.keys,
            "value": self.values,
            "topic": self._topics,
            "partition": self._partitions,
            "offset": self.offsets,
            "timestamp": pa.array(self.timestamps_ms, pa.timestamp("ms", tz="UTC")),
            "timestampType": self._timestamp_types,
            "headers": self.headers,
        }
        arrays = [_array(lists[field.name], field) for field in schema]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(found: Any, field: pa.Field) -> pa.Array:
    if field.name == "timestamp":
        return found.cast(field.type)
    if field.name in ("key", "value"):
        # As text they keep their bytes, as in Spark's cast: what is not UTF-8 stays as it is.
        made = pa.array(found, pa.binary())
        return pa.Array.from_buffers(field.type, len(made), made.buffers(), made.null_count)
    return pa.array(found, field.type)
