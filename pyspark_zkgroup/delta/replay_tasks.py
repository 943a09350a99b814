"""In how many tasks Delta replays a table's log when one of our appends asks for its files.

Unless told otherwise they are 50, for each append that is not a blind one. Delta's actions have too
many fields for Spark to compile them once for all tasks: each task writes its own code for them
before it sees a file, and for a small table that is most of what it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTING, DELTAS_OWN = "spark.databricks.delta.snapshotPartitions", 50
FILES_PER_TASK = 10_000


def replay_tasks(files: int, cores: int) -> int:
    return max(1, min(cores, DELTAS_OWN, 1 + files // FILES_PER_TASK))


@contextmanager
def few_replay_tasks(spark: SparkSession, files: int) -> Iterator[None]:
    """For a table of so many files; unless the user has said how many tasks there are to be."""
    if spark.conf.get(SETTING, None) is not None:
        yield
        return
    spark.conf.set(SETTING, replay_tasks(files, spark.sparkContext.defaultParallelism))
    try:
        yield
    finally:
        spark.conf.unset(SETTING)
