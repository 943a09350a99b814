"""Several members append to one Delta table, and it holds each (topic, partition, offset) once.

    query = writer(frame, "/data/billing", checkpointLocation="/data/checkpoints/billing-1").start()

A member that is killed leaves rows in the table that the group does not know as read; the member
that takes its partitions over reads them again. A member that was paused wakes up and appends what
others have taken over and appended. So each commit also moves a bound for each partition, beyond
which the table has no row (direct/bounds.py). A batch that begins there is appended as it is. Of
rows below it only those are appended that the table does not have, and a commit of another writer
meanwhile makes the batch look again. Ownership plays no part: it is the table that refuses.

Where the bounds cannot be kept, each batch is joined with the table, inside the very write
(write_path.py decides that). Delta remembers what the write has read, and fails it where another
has appended to the same Kafka partitions meanwhile.

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
from pyspark_zkgroup.delta.table import check_own_place
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
    """Return a writer that appends the stream `frame` to a Delta table, each record once. Set its
    trigger and name, and start it.

    `path` or `table`: the table, by its directory or by its name in the catalog. `columns`: the
    table's names for topic, partition, offset and epoch, where they differ. `epoch`: write all
    records once more, with this number in the column `epoch`. `checkpointLocation`: that of the
    query.

    DeltaError if the session has no Delta, or a column of the frame or the table is missing.

        ready = writer(orders, "/data/billing", checkpointLocation="/data/checkpoints/billing-1")
        query = ready.start()
    """
    check_own_place(path, checkpointLocation)
    append = Appender(target(path, table), keys(columns, epoch), checkpointLocation)
    append.check(frame.sparkSession, frame.schema)
    return frame.writeStream.foreachBatch(append).option("checkpointLocation", checkpointLocation)
