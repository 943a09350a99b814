"""Sets how many tasks Delta uses to replay a table's log when an append asks for its files.

The default is 50 tasks for each append that is not a blind one. Delta's actions have too many
fields for Spark to compile them once for all tasks: each task generates code for them before it
sees a file, and for a small table that takes most of the time.
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
    """Set the number for a table of so many files, unless the user has set one."""
    if spark.conf.get(SETTING, None) is not None:
        yield
        return
    spark.conf.set(SETTING, replay_tasks(files, spark.sparkContext.defaultParallelism))
    try:
        yield
    finally:
        spark.conf.unset(SETTING)
