"""Which way a job appends: tasks write the files where the table allows it, else Spark does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark_zkgroup import delta
from pyspark_zkgroup.delta.direct.storage import is_object_store
from pyspark_zkgroup.errors import DeltaError, DependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def add_write_path(parser: argparse.ArgumentParser) -> None:
    path = parser.add_mutually_exclusive_group()
    path.add_argument(
        "--through-spark",
        action="store_true",
        help="let Spark write the files, as it does for tables that do not allow the other way",
    )
    path.add_argument(
        "--direct",
        action="store_true",
        help="let tasks write the files in object stores too; elsewhere this is the default",
    )


def stream_into(
    spark: SparkSession,
    options: Mapping[str, str],
    arguments: argparse.Namespace,
    say: Callable[[str], None],
) -> DataStreamWriter:
    """Return the writer of a query that appends what these options read. In object stores Spark
    and delta-rs may overwrite each other's commits, so nothing chooses delta-rs but the user.
    """
    table, checkpoint = arguments.table, arguments.checkpoint
    is_stored = is_object_store(table)
    if arguments.direct and not is_stored:
        say("--direct has no effect any more: it is the default")
    if is_stored and arguments.direct:
        return delta.ingest(spark, options, table, checkpointLocation=checkpoint)
    if not is_stored and not arguments.through_spark:
        try:
            found = delta.ingest(spark, options, table, checkpointLocation=checkpoint)
        except (DeltaError, DependencyError) as error:
            say(f"rows pass through Spark: {error}")
        else:
            say(f"tasks write the files of {table}")
            return found
    frame = spark.readStream.format("zkgroup").options(**options).load()
    return delta.writer(frame, table, checkpointLocation=checkpoint)
