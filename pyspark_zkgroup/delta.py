"""Several members append to one Delta table, and it holds each (topic, partition, offset) once.

    query = frame.writeStream.foreachBatch(lambda batch, _: append_once(batch, path)).start()

A member that is killed leaves rows in the table that the group does not know as read; whoever takes
its partitions over reads them again. So a batch is joined with the table, inside the very write,
and only what is not there yet is appended. Delta remembers what the write has read: where another
member has appended to the same Kafka partitions meanwhile, the commit fails, and the batch is
compared afresh. The table is partitioned by topic and partition, so that members which read
different partitions are not in each other's way.
"""

from __future__ import annotations

import logging
import os
import shlex
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.sandbox.delta_jars import delta_jars
from pyspark_zkgroup.sandbox.java import find_java
from pyspark_zkgroup.sandbox.kafka_jars import Say

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row, SparkSession

KEYS = ("topic", "partition", "offset")
PARTITIONED_BY = ("topic", "partition")
# Each lost race means that another member has appended; more of them in a row than this means that
# somebody appends without an end what this member reads.
ATTEMPTS_MAX = 20
# Delta takes no file whose name begins so for one of the table's.
LOCK = "_zkgroup.lock"
LOOK_AGAIN_S = 0.02
WAITING_SAID_EVERY_S = 30.0

SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Over TCP each Python task waits some 40 ms for its first byte.
    "spark.python.unix.domain.socket.enabled": "true",
    # A job's output is read by lines.
    "spark.ui.showConsoleProgress": "false",
}

_in_this_process = threading.Lock()
_log = logging.getLogger("pyspark_zkgroup.delta")


def append_once(batch: DataFrame, path: str) -> int:
    """Append what the table at `path` does not hold yet; how many rows the batch had.

    Makes the table where there is none. May be called again with the same rows, by anybody.
    """
    from delta.exceptions import (
        ConcurrentAppendException,
        ConcurrentDeleteReadException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
    )

    lost_races = (
        ConcurrentAppendException,
        ConcurrentDeleteReadException,
        ConcurrentWriteException,
        MetadataChangedException,
        ProtocolChangedException,
    )
    batch = batch.persist()
    try:
        parts = _parts(batch)
        for attempt in range(1, ATTEMPTS_MAX + 1):
            if not parts:
                break
            try:
                with _alone(batch.sparkSession, path):
                    _make_table(batch, path)
                    _fresh(batch, parts, path).write.format("delta").mode("append").save(path)
                break
            except lost_races as error:
                if attempt == ATTEMPTS_MAX:
                    raise DeltaError(
                        f"others appended the rows of this batch to {path} while it was written, "
                        f"{ATTEMPTS_MAX} times in a row",
                        "See who else writes there, and start the query again: nothing is lost",
                    ) from error
        return sum(part["rows"] for part in parts)
    finally:
        batch.unpersist()


def _parts(batch: DataFrame) -> list[Row]:
    """What the batch holds: its Kafka partitions, with the lowest offset and the number of rows."""
    from pyspark.sql import functions as f

    grouped = batch.groupBy(*PARTITIONED_BY)
    return grouped.agg(f.min("offset").alias("lowest"), f.count("*").alias("rows")).collect()


def _fresh(batch: DataFrame, parts: Iterable[Row], path: str) -> DataFrame:
    """The rows that the table lacks. Planned within the write: Delta must see this read in it, and
    reads the table as of the write's own start. So it is neither persisted nor counted.
    """
    from pyspark.sql import functions as f

    # Literals in the partition columns: by these Delta knows whose appends are in the way.
    by_topic: dict[str, list[int]] = {}
    for part in parts:
        by_topic.setdefault(part["topic"], []).append(part["partition"])
    same_partitions: Column = reduce(
        or_,
        ((f.col("topic") == t) & f.col("partition").isin(p) for t, p in by_topic.items()),
    )
    lowest = min(part["lowest"] for part in parts)
    table = batch.sparkSession.read.format("delta").load(path)
    known = table.where(same_partitions).where(f.col("offset") >= lowest).select(*KEYS)
    return batch.join(known, list(KEYS), "left_anti").select(batch.columns)


def _make_table(batch: DataFrame, path: str) -> None:
    from delta.tables import DeltaTable

    spark = batch.sparkSession
    if not DeltaTable.isDeltaTable(spark, path):
        nothing = spark.createDataFrame([], batch.schema).write.format("delta")
        nothing.partitionBy(*PARTITIONED_BY).mode("append").save(path)


@contextmanager
def _alone(spark: SparkSession, path: str) -> Iterator[None]:
    """Keep the writers of a table on a local disk apart; other storages need nothing.

    Delta makes a commit by a rename that must fail where the name exists. On a local disk it is
    two steps: A finds no commit 7, B finds none, A renames its own to 7, B renames over it, and the
    rows of A are gone although its write succeeded. So a lock of this machine is held, by the JVM:
    it is the JVM that commits, and with its end, kill -9 included, the lock is free.
    """
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    storage = place.getFileSystem(spark._jsc.hadoopConfiguration())
    if storage.getScheme() != "file":
        yield
        return
    directory = Path(storage.makeQualified(place).toUri().getPath())
    directory.mkdir(parents=True, exist_ok=True)
    # A file lock is the whole process's: queries of one driver are kept apart by the other lock.
    with _in_this_process:
        channel = jvm.java.io.RandomAccessFile(str(directory / LOCK), "rw").getChannel()
        try:
            _wait_for(channel, directory)
            yield
        finally:
            channel.close()


def _wait_for(channel: Any, directory: Path) -> None:
    say_at = time.monotonic() + WAITING_SAID_EVERY_S
    while channel.tryLock() is None:
        if time.monotonic() > say_at:
            say_at += WAITING_SAID_EVERY_S
            _log.warning("waiting for another process that writes to %s", directory)
        time.sleep(LOOK_AGAIN_S)


def session(name: str, say: Say) -> SparkSession:
    """Spark with Delta, for jobs. A job run by plain Python gets Delta's jars from the cache of the
    user; one that was submitted has brought its own.
    """
    from pyspark.sql import SparkSession

    # Else Spark starts the first python3 of the path, which may lack this package.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    for setting, value in SETTINGS.items():
        builder = builder.config(setting, value)
    if not _brings_jars():
        builder = builder.config("spark.jars", ",".join(map(str, delta_jars(find_java(), say))))
    spark = builder.getOrCreate()
    if type(spark._jvm.io.delta.tables.DeltaTable).__name__ == "JavaPackage":  # type: ignore[union-attr]
        spark.stop()
        raise DeltaError(
            "Spark has no class io.delta.tables.DeltaTable",
            'Submit with --jars "$(python -m pyspark_zkgroup.sandbox.delta_jars)"',
        )
    return spark


def _brings_jars() -> bool:
    from pyspark.find_spark_home import _find_spark_home

    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return True
    given = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    if any(word in ("--jars", "--packages") or word.startswith("spark.jars") for word in given):
        return True
    return any((Path(_find_spark_home()) / "jars").glob("delta-spark*.jar"))
