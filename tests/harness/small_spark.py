"""A small Spark session in the process of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession


@contextmanager
def small_spark(jars: Sequence[Path] = (), **settings: str) -> Iterator[SparkSession]:
    """`settings` have `_` for the dots of Spark's names."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
    )
    if jars:
        builder = builder.config("spark.jars", ",".join(map(str, jars)))
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    made = builder.getOrCreate()
    try:
        yield made
    finally:
        made.stop()
