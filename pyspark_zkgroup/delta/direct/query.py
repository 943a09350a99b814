"""Starts queries that append topics to a Delta table by files that their tasks write."""

from __future__ import annotations

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
from pyspark_zkgroup.delta.direct.takeover import prepare
from pyspark_zkgroup.delta.direct.target import DAY, Target, row_columns
from pyspark_zkgroup.delta.keys import keys
from pyspark_zkgroup.delta.lock import alone, local_directory
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import Column, spark_ddl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

# As the tables that `writer` makes.
BY_DEFAULT = ("topic", "partition")


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
) -> DataStreamWriter:
    """Return the writer of a query that appends topics to the Delta table at `path`, each record
    once. Set its trigger and name, and start it.

    Tasks write the files, so rows do not pass through the JVM and cannot be transformed; use
    `writer` or `appender` for that.

    `spark`: the session. `options` and `schema`: those of `format("zkgroup")`.
    `checkpointLocation`: that of the query. `partition_by`: the table's partition columns, fields
    such as `value.country`, or `day`. `epoch`: a number to write all records once more under.
    `accept_gaps`: continue after records that the table misses.

    DeltaError or OptionError if the table, the options or the environment do not allow it.

        query = ingest(
            spark, options, "/data/billing", checkpointLocation="/data/checkpoints/billing-1"
        ).start()
    """
    from pyspark_zkgroup.delta.direct.source import NAME, FilesSource, given

    deltars.check_installed()
    directory = local_directory(spark, path)
    if directory is None:
        raise DeltaError.of("not_local", where=path)
    row_schema, target = _target(
        dict(options), str(directory), schema, partition_by, keys(None, epoch).epoch
    )
    with alone(spark, str(directory)):
        prepare(target)
    spark.dataSource.register(FilesSource)
    # Shows the source at a stop that Spark has logged the last batch.
    reader = spark.readStream.format(NAME).option("checkpointLocation", checkpointLocation)
    frame = reader.options(**options).options(**given(target, row_schema.json())).load()
    commit = Committer(Commits(target, accept_gaps=accept_gaps), dict(options))
    return frame.writeStream.foreachBatch(commit).option("checkpointLocation", checkpointLocation)


def _target(
    options: dict[str, str],
    directory: str,
    schema: str | StructType | None,
    partition_by: Sequence[str] | None,
    epoch: int | None,
) -> tuple[StructType, Target]:
    from pyspark.sql.types import StructType as Row

    from pyspark_zkgroup.delta.direct.files import leaves
    from pyspark_zkgroup.delta.direct.statistics import INDEXED_COLUMNS
    from pyspark_zkgroup.options import parse
    from pyspark_zkgroup.schema import arrow_schema
    from pyspark_zkgroup.spark.columns import columns_of

    parsed = parse(options)
    if schema is None:
        schema = spark_ddl(parsed.columns.default)
    given = _struct(schema) if isinstance(schema, str) else schema
    asked = columns_of(given)
    parsed.columns.shape(asked)
    table = deltars.opened(directory)
    there = None if table is None else deltars.described(table)
    if partition_by is None and there is not None:
        partition_by = names_of_table(there, row_columns(asked, (DAY,)))
    elif partition_by is None:
        names = [one.name for one in asked]
        partition_by = BY_DEFAULT if set(BY_DEFAULT) <= set(names) else ()
    row = row_columns(asked, tuple(partition_by))
    by = partition_columns(tuple(partition_by), row, asked)
    columns = [*asked, *(Column(one.name, one.type) for one in by if one.source != (one.name,))]
    # A partition column that is not among those asked for is read all the same.
    known = {one.name for one in columns}
    columns += [one for one in row if one.name in {p.name for p in by} - known]
    if epoch is not None:
        columns.append(Column("epoch", "int"))
    target = Target(directory, tuple(columns), by, epoch=epoch)
    indexed = leaves(arrow_schema(target.file_columns))[:INDEXED_COLUMNS]
    target = replace(target, statistics=tuple(indexed))
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
