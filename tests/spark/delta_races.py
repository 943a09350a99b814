"""Scenes of writers that want to append the same records at the same time (delta_scenes.py).

Writers are threads here, or another process that holds the table's lock.
"""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import LongType

from pyspark_zkgroup import delta
from pyspark_zkgroup.delta import append, lock
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.ranges import Box
from pyspark_zkgroup.delta.table import Table
from tests.harness.delta_table import records
from tests.harness.waiting import wait_until

Fresh = Callable[[DataFrame, Table, Keys, tuple[Box, ...]], DataFrame]
unplanted_fresh: Fresh = append.fresh_rows
# What the scenes call in their own; a planted bug stands here (delta_plants.py).
original_fresh: Fresh = unplanted_fresh


def frame(spark: SparkSession, partition: int, start: int, until: int) -> DataFrame:
    return spark.range(start, until).select(
        f.lit("t").alias("topic"),
        f.lit(partition).alias("partition"),
        f.col("id").alias("offset"),
        f.lit(b"value").alias("value"),
    )


def count(table: Path) -> list[int]:
    found = records(table)
    return [len(found), len(set(found))]


def replace_fresh(by: Fresh) -> None:
    append.fresh_rows = by  # type: ignore[assignment]


def put_back() -> None:
    replace_fresh(original_fresh)


def again_and_overlapping(spark: SparkSession, table: Path) -> dict[str, Any]:
    """The same batch twice, then one that holds some of it, then nothing."""
    read = [
        delta.append_once(frame(spark, 0, start, until), str(table))
        for start, until in ((0, 100), (0, 100), (50, 150), (0, 0))
    ]
    return {"read": read, "found": count(table)}


def rival_before_the_write(spark: SparkSession, table: Path) -> dict[str, Any]:
    """The rival appends after our frame was made and before our write begins."""
    tries: list[int] = []
    delta.append_once(frame(spark, 0, 0, 150), str(table))

    def fresh(batch: DataFrame, of: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
        made = original_fresh(batch, of, by, within)
        if not tries:
            of.append(frame(spark, 0, 150, 200))
        tries.append(1)
        return made

    replace_fresh(fresh)
    delta.append_once(frame(spark, 0, 120, 250), str(table))
    put_back()
    return {"tries": len(tries), "found": count(table)}


def rival_of_the_same_partition(spark: SparkSession, table: Path) -> dict[str, Any]:
    return _rival_within_the_write(spark, table, 0)


def rival_of_a_table_by_name(spark: SparkSession, table: Path) -> dict[str, Any]:
    return _rival_within_the_write(spark, table, 0, "named")


def rival_of_another_partition(spark: SparkSession, table: Path) -> dict[str, Any]:
    return _rival_within_the_write(spark, table, 1)


def _rival_within_the_write(
    spark: SparkSession, table: Path, partition: int, name: str = ""
) -> dict[str, Any]:
    """The rival appends while our write runs: its rows are held up until the rival is done."""
    tries: list[int] = []
    delta.append_once(frame(spark, 0, 0, 1), str(table))
    if name:
        spark.sql(f"CREATE TABLE {name} USING delta LOCATION '{table}'")
    running, go = table / "_running", table / "_go"

    @f.udf(LongType())
    def hold(offset: int) -> int:
        if offset == 349:  # one task only: the rival needs the other slot
            running.touch()
            wait_until(go.exists, 60, "the rival")
        return offset

    def fresh(batch: DataFrame, of: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
        made = original_fresh(batch, of, by, within)
        tries.append(1)
        return made.withColumn("offset", hold("offset")) if len(tries) == 1 else made

    def rival() -> None:
        wait_until(running.exists, 60, "our write to run")
        rows = frame(spark, partition, 200, 300)
        rows.write.format("delta").mode("append").save(str(table))
        go.touch()

    replace_fresh(fresh)
    beside = threading.Thread(target=rival)
    beside.start()
    if name:
        delta.append_once(frame(spark, 0, 200, 350), table=name)
    else:
        delta.append_once(frame(spark, 0, 200, 350), str(table))
    beside.join()
    put_back()
    return {"tries": len(tries), "found": count(table)}


HOLDER = """
import fcntl, os, sys
with open(sys.argv[1], "a") as lock:
    fcntl.lockf(lock, fcntl.LOCK_EX)
    lock.truncate(0)
    print(f"process {os.getpid()} since today", file=lock, flush=True)
    print("held", flush=True)
    sys.stdin.read()
"""


class Said(logging.Handler):
    """What the writer logs."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def another_process_writes(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Another process holds the table's lock, stopped; it is killed, and the write continues."""
    delta.append_once(frame(spark, 0, 0, 10), str(table))
    lock.WAITING_SAID_EVERY_S = 0.1
    said = Said()
    logging.getLogger("pyspark_zkgroup.delta").addHandler(said)
    writer = threading.Thread(target=delta.append_once, args=(frame(spark, 0, 0, 20), str(table)))
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(table / lock.LOCK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        writer.start()

        def waits(times: int) -> bool:
            return len(said.texts) >= times or not writer.is_alive()

        wait_until(lambda: waits(1), 60, "the writer to wait")
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: waits(2), 60, "it to say so again")
        waited = count(table)
        holder.kill()
    writer.join()
    first = said.texts[0] if said.texts else "nothing"
    return {"waited": waited, "found": count(table), "said": first, "holder": holder.pid}


def many_make_the_table(spark: SparkSession, table: Path) -> dict[str, Any]:
    writers = [
        threading.Thread(
            target=delta.append_once,
            args=(frame(spark, n % 2, 0, 100 + n), str(table)),
        )
        for n in range(4)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    return {"found": count(table)}
