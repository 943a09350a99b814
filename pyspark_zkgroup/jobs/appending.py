"""Which way a job appends: tasks write the files where the table allows it, else Spark does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark_zkgroup import delta
from pyspark_zkgroup.errors import DeltaError, DependencyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def add_road(parser: argparse.ArgumentParser) -> None:
    road = parser.add_mutually_exclusive_group()
    road.add_argument(
        "--through-spark",
        action="store_true",
        help="let Spark write the files, as it does for tables that do not allow the other way",
    )
    road.add_argument("--direct", action="store_true", help="no effect: this is the default")


def stream_into(
    spark: SparkSession,
    options: Mapping[str, str],
    arguments: argparse.Namespace,
    say: Callable[[str], None],
) -> DataStreamWriter:
    """Return the writer of a query that appends what these options read."""
    table, checkpoint = arguments.table, arguments.checkpoint
    if arguments.direct:
        say("--direct has no effect any more: it is the default")
    if not arguments.through_spark:
        try:
            found = delta.ingest(spark, options, table, checkpointLocation=checkpoint)
        except (DeltaError, DependencyError) as error:
            say(f"rows pass through Spark: {error}")
        else:
            say(f"tasks write the files of {table}")
            return found
    frame = spark.readStream.format("zkgroup").options(**options).load()
    return delta.writer(frame, table, checkpointLocation=checkpoint)
