"""Appends the rows of a batch that the table does not hold yet, and only if no other writer appends
them meanwhile.

    append_once      any frame with the columns of a record
    Appender         for foreachBatch: takes from Spark's offset log what the batch can hold
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.bounded import LostCommitError
from pyspark_zkgroup.delta.conflicts import ATTEMPTS_MAX, lost_races, until_won
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.keys import Keys, keys
from pyspark_zkgroup.delta.lock import alone
from pyspark_zkgroup.delta.planned import planned
from pyspark_zkgroup.delta.ranges import Box, boxes
from pyspark_zkgroup.delta.replay_tasks import few_replay_tasks
from pyspark_zkgroup.delta.session import check_session
from pyspark_zkgroup.delta.table import (
    Table,
    check_batch,
    check_new_columns,
    check_own_place,
    may_add_columns,
    table,
)
from pyspark_zkgroup.delta.write_path import WritePath, check_existing, write_path
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

# A table may grow, or be altered, while a query runs for weeks.
CHECKED_AGAIN_AFTER_BATCHES = 1000

_log = logging.getLogger("pyspark_zkgroup.delta")

_STRANGERS = (
    "the batch holds a row that its plan does not: its topic, partition or offset was changed, or "
    "it does not come from a zkgroup source"
)
_STRANGERS_REMEDY = (
    "Leave the columns of a record as they were read; for rows from elsewhere use "
    "append_once(batch, path), which looks at the rows instead of the plan"
)


# Appends of this process, by application, table, keys, columns, and whether batches have a plan.
_write_paths: dict[tuple[str, Table, Keys, str, bool], WritePath] = {}


def append_once(
    batch: DataFrame,
    path: str | None = None,
    *,
    table: str | None = None,
    columns: Mapping[str, str] | None = None,
    epoch: int | None = None,
) -> int:
    """Append the rows of `batch` that the table does not have yet. Return how many rows it had.

    `path` or `table`: the table, by its directory or by its name in the catalog. `columns`: the
    table's names for topic, partition, offset and epoch, where they differ. `epoch`: write all
    records once more, with this number in the column `epoch`.

    The table is created if it does not exist. Any process may call this again with the same rows.
    The batch is kept in memory (or on disk) meanwhile, since it is read before it is written.

        query = (
            orders.writeStream.foreachBatch(lambda batch, _: append_once(batch, "/data/billing"))
            .option("checkpointLocation", "/data/checkpoints/billing-1")
            .start()
        )
    """
    target, by = _target(path, table), keys(columns, epoch)
    check_batch(batch.schema, by)
    batch = batch.persist()
    try:
        ranges, rows = _ranges_of_rows(batch, by)
        if rows:
            _append(batch, target, by, ranges, None)
        return rows
    finally:
        batch.unpersist()


@dataclass(frozen=True, slots=True)
class Appender:
    """Appends each batch to a table once. Created by `appender`, and called by foreachBatch.

    `table`, `keys` (the columns that identify a record) and `checkpoint` come from `appender`. Call
    it with a frame that was made from the batch and keeps the columns of a record:

        append = appender("/data/billing", checkpointLocation="/data/checkpoints/billing-1")
        query = (
            orders.writeStream.foreachBatch(
                lambda batch, batch_id: append(batch.where("value IS NOT NULL"), batch_id)
            )
            .option("checkpointLocation", "/data/checkpoints/billing-1")
            .start()
        )
    """

    table: Table
    keys: Keys
    checkpoint: str

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        check_batch(batch.schema, self.keys)
        of = planned(batch.sparkSession, self.checkpoint, batch_id)
        if of.ranges:
            rows = _refuse_strangers(batch, self.keys, of.ranges)
            _append(rows, self.table, self.keys, of.ranges, of.logs)
        elif not batch.isEmpty():
            raise DeltaError(_STRANGERS, _STRANGERS_REMEDY)

    def check(self, spark: SparkSession, schema: StructType | None = None) -> None:
        """Raise DeltaError unless this session can write such rows to the table as it is now."""
        check_session(spark)
        if schema is not None:
            check_batch(schema, self.keys)
        if self.table.exists(spark):
            check_existing(spark, self.table, self.keys)
            if schema is not None and not may_add_columns(spark):
                check_new_columns(str(self.table), self.table.read(spark).schema, schema)
                fields = schema.jsonValue()["fields"]
                if self.keys.epoch is not None:
                    fields.append({"name": self.keys.epoch_column, "type": "integer"})
                check_existing(spark, self.table, self.keys, fields)
        elif self.table.path is not None:
            self.table.refuse_other_files(spark)


def appender(
    path: str | None = None,
    *,
    table: str | None = None,
    checkpointLocation: str,  # noqa: N803 - as Spark spells it
    columns: Mapping[str, str] | None = None,
    epoch: int | None = None,
) -> Appender:
    """Return a function for foreachBatch that appends each batch to a Delta table once. The session
    and the table are checked now.

    `path` or `table`: the table, by its directory or by its name in the catalog. `columns`: the
    table's names for topic, partition, offset and epoch, where they differ. `epoch`: write all
    records once more, with this number in the column `epoch`. `checkpointLocation`: that of the
    query. Spark logs each batch's plan there before it runs the batch, so the appender need not
    read it twice.

        append = appender("/data/billing", checkpointLocation="/data/checkpoints/billing-1")
        query = (
            orders.writeStream.foreachBatch(append)
            .option("checkpointLocation", "/data/checkpoints/billing-1")
            .start()
        )
    """
    from pyspark.sql import SparkSession

    check_own_place(path, checkpointLocation)
    made = Appender(_target(path, table), keys(columns, epoch), checkpointLocation)
    spark = SparkSession.getActiveSession()
    if spark is not None:
        made.check(spark)
    return made


# The parameter `table` of the functions above hides the function.
_target = table


def fresh_rows(batch: DataFrame, target: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
    """Return the rows that the table lacks. The read is planned within the write: Delta must see it
    there, and reads the table as of the write's own start. So it is neither persisted nor counted.
    """
    there = target.read(batch.sparkSession)
    kind = there.schema[by.partition].dataType
    if batch.schema[by.partition].dataType != kind:
        # For a table given by its path, Delta refuses an int for a bigint column.
        batch = batch.withColumn(by.partition, by.of(by.partition).cast(kind))
    same = by.same_partitions(within) & by.covered(within)
    if by.epoch is not None:
        same &= by.of(by.epoch_column) == by.epoch
    there = there.where(same).select(*(by.of(name) for name in by.unique))
    return batch.join(there, list(by.unique), "left_anti").select(
        *(by.of(name) for name in batch.columns)
    )


def _append(
    batch: DataFrame,
    target: Table,
    by: Keys,
    ranges: Mapping[TopicPartition, OffsetRange],
    logs: frozenset[Log] | None,
) -> None:
    """Append the rows that the table lacks; `logs` are those of the plan, where there is one."""
    from pyspark.sql import functions as f

    spark = batch.sparkSession
    if by.epoch is not None:
        batch = batch.withColumn(by.epoch_column, f.lit(by.epoch).cast("int"))
    application = str(spark.sparkContext.applicationId)
    known = (application, target, by, batch.schema.json(), logs is not None)

    def attempt() -> None:
        taken = _write_paths.get(known)
        if taken is None or taken.batches >= CHECKED_AGAIN_AFTER_BATCHES:
            taken = write_path(batch, target, by, has_plan=logs is not None)
        if taken.bounded is not None:
            taken.bounded.append(batch, ranges, logs or (), fresh_rows)
        else:
            with alone(spark, taken.location), few_replay_tasks(spark, taken.files):
                if target.has_watermarks(spark):
                    raise LostCommitError("another writer has given the table bounds")
                target.append(fresh_rows(batch, target, by, boxes(ranges)))
        taken.batches += 1
        _write_paths[known] = taken

    def lost(error: Exception) -> None:
        # The change may concern the table's own columns.
        _write_paths.pop(known, None)
        _log.info("An append to %s is tried again: %s", target, error)

    def given_up(error: Exception) -> DeltaError:
        if isinstance(error, LostCommitError):
            return DeltaError.of("no_commit", where=target, attempts=ATTEMPTS_MAX, error=error)
        race = type(error).__name__
        return DeltaError.of("always_lost", where=target, attempts=ATTEMPTS_MAX, race=race)

    try:
        until_won(attempt, (*lost_races(), LostCommitError), lost, given_up)
    except DeltaError:
        raise
    except Exception as error:
        if _STRANGERS in str(error):
            raise DeltaError(_STRANGERS, _STRANGERS_REMEDY) from error
        raise


def _ranges_of_rows(batch: DataFrame, by: Keys) -> tuple[dict[TopicPartition, OffsetRange], int]:
    from pyspark.sql import functions as f

    offset = by.of(by.offset)
    grouped = batch.groupBy(by.of(by.topic).alias("t"), by.of(by.partition).alias("p")).agg(
        f.min(offset).alias("lowest"),
        f.max(offset).alias("highest"),
        f.count(offset).alias("offsets"),
        f.count(f.lit(1)).alias("rows"),
    )
    ranges: dict[TopicPartition, OffsetRange] = {}
    rows = 0
    for part in grouped.collect():
        if part["t"] is None or part["p"] is None or part["offsets"] < part["rows"]:
            raise DeltaError(
                f"the batch holds rows without a {by.topic}, {by.partition} or {by.offset}",
                "Each row must say which record it comes from: leave such rows out",
            )
        partition = TopicPartition(part["t"], part["p"])
        ranges[partition] = OffsetRange(part["lowest"], part["highest"] + 1)
        rows += part["rows"]
    return ranges, rows


def _refuse_strangers(
    batch: DataFrame, by: Keys, ranges: Mapping[TopicPartition, OffsetRange]
) -> DataFrame:
    """Raise an error if rows are outside the boxes, which cover the ranges: they would not be
    compared.
    """
    from pyspark.sql import functions as f

    refusal = f.raise_error(f.lit(str(DeltaError(_STRANGERS, _STRANGERS_REMEDY)))).cast("bigint")
    offset = f.when(by.planned(ranges), by.of(by.offset)).otherwise(refusal)
    return batch.withColumn(by.offset, offset)
