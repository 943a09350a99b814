"""Several members append to one Delta table, and it holds each (topic, partition, offset) once.

    query = writer(frame, "/data/billing", checkpointLocation="/data/checkpoints/billing-1").start()

A member that is killed leaves rows in the table that the group does not know as read; whoever takes
its partitions over reads them again. A member that was paused wakes up and appends what others have
taken over and appended. So a batch is joined with the table, inside the very write, and only what
is not there yet is appended. Delta remembers what the write has read: where another has appended to
the same Kafka partitions meanwhile, the commit fails, and the batch is compared afresh. Nothing
about who owns what is needed: it is the table that refuses.

`ingest` is for queries that transform nothing: tasks write the files, and the table's watermarks
decide (direct/rules.py).

docs/delta.md says which tables it works on, what it costs, and what it does not protect from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.append import Appender, append_once, appender
from pyspark_zkgroup.delta.direct.query import ingest
from pyspark_zkgroup.delta.keys import keys
from pyspark_zkgroup.delta.lock import alone
from pyspark_zkgroup.delta.session import SETTINGS, session
from pyspark_zkgroup.delta.table import table as target

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

__all__ = [
    "SETTINGS",
    "Appender",
    "alone",
    "append_once",
    "appender",
    "ingest",
    "session",
    "writer",
]


def writer(
    frame: DataFrame,
    path: str | None = None,
    *,
    table: str | None = None,
    checkpointLocation: str,  # noqa: N803 - as Spark spells it
    columns: Mapping[str, str] | None = None,
    epoch: int | None = None,
) -> DataStreamWriter:
    """Return the whole writer of a stream: set its trigger and name as you like, and start it.

    DeltaError if the session has no Delta, or a column of the frame or the table is missing.
    """
    append = Appender(target(path, table), keys(columns, epoch), checkpointLocation)
    append.check(frame.sparkSession, frame.schema)
    return frame.writeStream.foreachBatch(append).option("checkpointLocation", checkpointLocation)
