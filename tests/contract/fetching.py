"""Readers and servers for tests of fetches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import RawRecords, read_ranges
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import Mark, OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import COLUMNS, arrow_schema

TIMEOUT_S = 10.0
LIMITS = Limits(rows_max=10_000, bytes_max=1 << 24, unpacked_bytes_max=1 << 26)


class Servers(Protocol):
    """A real cluster, or one in this process."""

    @property
    def bootstrap_servers(self) -> str: ...

    def create_topic(
        self, name: str, partitions: int, config: Mapping[str, str] | None = None, /
    ) -> None: ...

    def delete_topic(self, name: str, /) -> None: ...


def settings_of(servers: Servers, **settings: Any) -> FetchSettings:
    bootstrap = tuple(servers.bootstrap_servers.split(","))
    return FetchSettings(bootstrap, **{"deadline_s": TIMEOUT_S, **settings})


def rows(
    cluster: Cluster,
    ranges: dict[TopicPartition, OffsetRange],
    marks: Mapping[TopicPartition, Mark] | None = None,
) -> dict[TopicPartition, Any]:
    """Return (offset, value) of every row, in order, per partition."""
    table = to_table(read_ranges(cluster, ranges, marks))
    columns = [table[name].to_pylist() for name in ("topic", "partition", "offset", "value")]
    found: dict[TopicPartition, Any] = {tp: [] for tp in ranges}
    for name, partition, offset, value in zip(*columns):
        found[TopicPartition(name, partition)].append((offset, value))
    return found


def to_table(raw: Iterator[RawRecords]) -> pa.Table:
    decoder = ReferenceDecoder(LIMITS)
    batches = [b for r in raw for b in decoder.feed(r.partition, r.wanted, r.data, r.aborted)]
    return pa.Table.from_batches([*batches, *decoder.finish()], arrow_schema(COLUMNS))


def numbered(first: int, until: int) -> list[tuple[int, bytes]]:
    return [(n, b"%d" % n) for n in range(first, until)]


def values(count: int) -> Sequence[bytes]:
    return [b"%d" % n for n in range(count)]
