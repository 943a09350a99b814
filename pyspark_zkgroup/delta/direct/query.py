"""Starts queries that append topics to a Delta table by files that their tasks write."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.committing import Commits, Committer
from pyspark_zkgroup.delta.direct.requirements import (
    check_table,
    names_of_table,
    partition_columns,
)
from pyspark_zkgroup.delta.direct.storage import (
    Storage,
    checked_location,
    is_object_store,
    storage_of,
)
from pyspark_zkgroup.delta.direct.takeover import prepare, prepare_stored
from pyspark_zkgroup.delta.direct.target import Target, row_columns
from pyspark_zkgroup.delta.keys import keys
from pyspark_zkgroup.delta.lock import alone, local_directory
from pyspark_zkgroup.delta.session import check_has_jvm
from pyspark_zkgroup.delta.table import check_own_place
from pyspark_zkgroup.errors import DeltaError, OptionError
from pyspark_zkgroup.options.group import seen_checkpoint
from pyspark_zkgroup.schema import Column, spark_ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

# As the tables that `writer` makes.
BY_DEFAULT = ("topic", "partition")
# Spark has one source of a name, and looks it up at load().
_registering = threading.Lock()


def ingest(
    spark: SparkSession,
    options: Mapping[str, str],
    path: str,
    *,
    checkpointLocation: str,  # noqa: N803 - as Spark spells it
    schema: str | StructType | None = None,
    partition_by: Sequence[str] | None = None,
    epoch: int | None = None,
    accept_gaps: bool = False,
    storage_options: Mapping[str, str] | None = None,
) -> DataStreamWriter:
    """Return the writer of a query that appends topics to the Delta table at `path`, each record
    once. Set its trigger and name, and start it.

    Tasks write the files, so rows do not pass through the JVM and cannot be transformed; use
    `writer` or `appender` for that.

    `spark`: the session. `options` and `schema`: those of `format("zkgroup")`.
    `checkpointLocation`: that of the query. `partition_by`: the table's partition columns, fields
    such as `value.country`, or `day`. `epoch`: write all records once more, with this number in the
    column `epoch`. `accept_gaps`: continue after records that the table misses. `storage_options`:
    how delta-rs reaches a table in an object store (s3://, abfss:// or gs://), credentials
    included.

    DeltaError or OptionError if the table, the options or the environment do not allow it.

        query = ingest(
            spark, options, "/data/billing", checkpointLocation="/data/checkpoints/billing-1"
        ).start()
    """
    from pyspark_zkgroup.delta.direct.source import NAME, given, source_for

    deltars.check_installed()
    check_own_place(path, checkpointLocation)
    given_checkpoint = options.get("checkpointLocation", checkpointLocation)
    if given_checkpoint != checkpointLocation:
        raise OptionError.of("two_checkpoints", given=given_checkpoint, own=checkpointLocation)
    storage = storage_of(storage_options, path)
    directory = _located(spark, path)
    asked_epoch = keys(None, epoch).epoch
    with storage.guarded(directory):
        row_schema, target = _target(
            dict(options), directory, schema, partition_by, asked_epoch, storage
        )
    _prepare(spark, target)
    with _registering:
        spark.dataSource.register(source_for(storage))
        # Shows the source at a stop that Spark has logged the last batch.
        reader = spark.readStream.format(NAME).options(**seen_checkpoint(checkpointLocation))
        frame = reader.options(**options).options(**given(target, row_schema.json())).load()
    commit = Committer(Commits(target, accept_gaps=accept_gaps), dict(options))
    return frame.writeStream.foreachBatch(commit).option("checkpointLocation", checkpointLocation)


def _located(spark: SparkSession, path: str) -> str:
    """Object stores are delta-rs's to open: Spark may have no file system for them."""
    check_has_jvm(spark)
    if is_object_store(path):
        return checked_location(path)
    directory = local_directory(spark, path)
    if directory is None:
        raise DeltaError.of("not_local", where=path)
    return str(directory)


def _prepare(spark: SparkSession, target: Target) -> None:
    if is_object_store(target.directory):
        prepare_stored(target)
        return
    with alone(spark, target.directory):
        prepare(target)


def _target(
    options: dict[str, str],
    directory: str,
    schema: str | StructType | None,
    partition_by: Sequence[str] | None,
    epoch: int | None,
    storage: Storage,
) -> tuple[StructType, Target]:
    from pyspark.sql.types import StructType as Row

    from pyspark_zkgroup.delta.direct.files import indexed
    from pyspark_zkgroup.options import parse
    from pyspark_zkgroup.schema import arrow_schema
    from pyspark_zkgroup.spark.columns import columns_of

    parsed = parse(options)
    if schema is None:
        schema = spark_ddl(parsed.columns.default)
    given = _struct(schema) if isinstance(schema, str) else schema
    asked = columns_of(given)
    parsed.columns.shape(asked)
    table = deltars.opened(directory, storage)
    there = None if table is None else deltars.described(table)
    if partition_by is None and there is not None:
        partition_by = names_of_table(there, asked)
    elif partition_by is None:
        names = [one.name for one in asked]
        partition_by = BY_DEFAULT if set(BY_DEFAULT) <= set(names) else ()
    row = row_columns(asked, tuple(partition_by))
    epochs = () if epoch is None else (Column("epoch", "int"),)
    by = partition_columns(tuple(partition_by), row, (*asked, *epochs))
    columns = [*asked, *(Column(one.name, one.type) for one in by if one.source != (one.name,))]
    # A partition column that is not among those asked for is read all the same.
    known = {one.name for one in columns}
    columns += [one for one in row if one.name in {p.name for p in by} - known]
    columns += epochs
    target = Target(directory, tuple(columns), by, epoch=epoch, storage=storage)
    target = replace(target, statistics=indexed(arrow_schema(target.file_columns)))
    if there is not None:
        check_table(there, target)
    missing = row[len(asked) :]
    if missing:
        given = Row([*given.fields, *_struct(spark_ddl(missing)).fields])
    return given, target


def _struct(ddl: str) -> StructType:
    from pyspark.sql.types import StructType as Row

    found = Row.fromDDL(ddl)
    assert isinstance(found, Row)
    return found
