"""The rows that travel from the tasks to the driver: what was read, and which files hold it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from pyspark_zkgroup.delta.direct.rules import Log, ReadRange, WrittenFile
from pyspark_zkgroup.model import OffsetRange
from pyspark_zkgroup.schema import Column, arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS: Final = (
    Column("topic", "string"),
    Column("topic_id", "string"),
    Column("partition", "int"),
    Column("start", "bigint"),
    Column("until", "bigint"),
    Column("path", "string"),
    Column("rows", "bigint"),
    Column("bytes", "bigint"),
    Column("partition_values", "string"),
    Column("stats", "string"),
    Column("brokers", "string"),
)
"""A row without a path is a range that a task has read, from these brokers; with one it is a file,
and `start` and `until` are those of its rows.
"""


def batch(
    read: Iterable[ReadRange], files: Iterable[WrittenFile], brokers: Iterable[str] = ()
) -> pa.RecordBatch:
    import pyarrow as pa

    told = ",".join(brokers)
    rows: list[dict[str, Any]] = [
        {
            **one.log._asdict(),
            "start": one.range.start,
            "until": one.range.until,
            "brokers": told,
        }
        for one in read
    ]
    rows += [
        {
            **file.log._asdict(),
            "start": file.first,
            "until": file.last + 1,
            "path": file.path,
            "rows": file.rows,
            "bytes": file.bytes,
            "partition_values": json.dumps(dict(file.partition_values)),
            "stats": file.stats,
        }
        for file in files
    ]
    return pa.RecordBatch.from_pylist(rows, schema=arrow_schema(COLUMNS))


def described(rows: Iterable[Any]) -> tuple[list[ReadRange], list[WrittenFile]]:
    """Return the ranges and the files of rows that Spark has collected."""
    read: list[ReadRange] = []
    files: list[WrittenFile] = []
    for row in rows:
        log = Log(row["topic"], row["partition"], row["topic_id"])
        if row["path"] is None:
            read.append(ReadRange(log, OffsetRange(row["start"], row["until"])))
            continue
        files.append(
            WrittenFile(
                path=row["path"],
                log=log,
                first=row["start"],
                last=row["until"] - 1,
                rows=row["rows"],
                bytes=row["bytes"],
                partition_values=tuple(json.loads(row["partition_values"]).items()),
                stats=row["stats"],
            )
        )
    return read, files
