"""What the tests of `delta.ingest` without Spark share: records as tasks get them, and a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from pyspark_zkgroup.delta.direct.committing import Commits
from pyspark_zkgroup.delta.direct.descriptions import described
from pyspark_zkgroup.delta.direct.requirements import partition_columns
from pyspark_zkgroup.delta.direct.rules import ReadRange, WrittenFile
from pyspark_zkgroup.delta.direct.takeover import prepare
from pyspark_zkgroup.delta.direct.target import Target, row_columns
from pyspark_zkgroup.delta.direct.writing import IntoFiles
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import Mark, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.schema import Column, Struct, arrow_schema

TOPIC, ID = "orders", "Yw1hPrQ2TDmM0gQsk4UoYQ"
VALUE = Column(
    "value", Struct((Column("id", "bigint"), Column("country", "string"), Column("x", "double")))
)
OFFSET, WHEN = Column("offset", "bigint"), Column("timestamp", "timestamp")
KEYS = (Column("topic", "string"), Column("partition", "int"), OFFSET)
NOON = datetime(2026, 11, 24, 12, tzinfo=timezone.utc)
SETTINGS = FetchSettings(bootstrap=("broker:9092",))
COUNTRIES = ("de", None, "a b/%", "")


def target(
    directory: Path,
    columns: tuple[Column, ...] = (*KEYS, VALUE),
    by: tuple[str, ...] = ("topic", "partition"),
) -> Target:
    found = partition_columns(by, row_columns(columns, by), columns)
    new = [Column(one.name, one.type) for one in found if one.source != (one.name,)]
    statistics = ("offset", "timestamp", "value.id", "value.country", "value.x")
    return Target(str(directory / "table"), (*columns, *new), found, statistics=statistics)


def records(
    into: Target, ranges: Mapping[int, range], every: timedelta = timedelta(0)
) -> list[pa.RecordBatch]:
    """As a task decodes them: several partitions in one batch."""
    rows = [
        {
            "topic": TOPIC,
            "partition": partition,
            "offset": offset,
            "timestamp": NOON + every * offset,
            "value": {"id": offset, "country": COUNTRIES[offset % 4], "x": offset / 2},
        }
        for partition, offsets in ranges.items()
        for offset in offsets
    ]
    return [pa.RecordBatch.from_pylist(rows, schema=arrow_schema(row(into)))]


def row(into: Target) -> tuple[Column, ...]:
    """Return the columns of records that go into this table."""
    names = {one.name for one in into.columns} | {one.source[0] for one in into.partition_by}
    others = (one for one in (WHEN, VALUE) if one.name in names)
    return (*KEYS, *others)


def task(ranges: Mapping[int, range], topic_id: str = ID) -> TaskInput:
    return TaskInput(
        "a member-0",
        tuple(
            TaskRange(
                TopicPartition(TOPIC, partition),
                OffsetRange(offsets.start, offsets.stop),
                Mark(0, topic_id),
            )
            for partition, offsets in ranges.items()
        ),
    )


def written(
    into: Target,
    ranges: Mapping[int, range],
    read: Mapping[int, range] | None = None,
    topic_id: str = ID,
) -> tuple[list[ReadRange], list[WrittenFile]]:
    """Run a task; `read` are the ranges of its plan, where records are not all of their offsets."""
    output = IntoFiles(into)(task(read or ranges, topic_id), SETTINGS, records(into, ranges))
    return described(row for batch in output for row in batch.to_pylist())


def taken(
    commits: Commits,
    into: Target,
    ranges: Mapping[int, range],
    read: Mapping[int, range] | None = None,
    topic_id: str = ID,
) -> None:
    commits.commit(*written(into, ranges, read, topic_id), no_brokers)


def no_brokers(partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
    raise AssertionError(f"the brokers were asked about {partitions}")


def prepared(directory: Path, **given: object) -> Target:
    made = replace(target(directory), **given)  # type: ignore[arg-type]
    prepare(made)
    return made


def offsets(into: Target) -> dict[int, list[int]]:
    """Return the offsets of each partition, in their order, as delta-rs reads the table."""
    found: dict[int, list[int]] = {}
    table = DeltaTable(into.directory, storage_options=into.storage.plain)
    rows = table.to_pyarrow_table(columns=["partition", "offset"])
    for row in rows.to_pylist():
        found.setdefault(row["partition"], []).append(row["offset"])
    return {partition: sorted(values) for partition, values in found.items()}
