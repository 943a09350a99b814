"""Scenes of tables of the user's own, and of what is refused (delta_scenes.py)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup import delta, plan
from pyspark_zkgroup.delta.keys import Keys, keys
from pyspark_zkgroup.delta.ranges import Box
from pyspark_zkgroup.delta.table import Table
from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from tests.spark.delta_races import frame, put_back, replace_fresh, unplanted_fresh

MAPPED = {"topic": "kafka_topic", "partition": "kafka_partition", "offset": "at"}


def count(spark: SparkSession, table: Path, *columns: str) -> list[int]:
    """All rows, and how many different ones there are by these columns."""
    rows = spark.read.format("delta").load(str(table))
    return [rows.count(), rows.select(*columns).distinct().count()]


def of_the_users_own(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Laid out by day, under a name, with columns of other names and types; a rival appends to it
    by its path after our frame was made.
    """
    spark.sql(
        "CREATE TABLE own (day STRING, kafka_topic STRING, kafka_partition BIGINT, at BIGINT) "
        f"USING delta PARTITIONED BY (day) LOCATION '{table}'"
    )

    def rows(start: int, until: int, kind: str) -> DataFrame:
        return frame(spark, 0, start, until).select(
            f.lit("monday").alias("day"),
            f.col("topic").alias("kafka_topic"),
            f.col("partition").cast(kind).alias("kafka_partition"),
            f.col("offset").alias("at"),
        )

    tries: list[int] = []

    def fresh(batch: DataFrame, of: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
        made = unplanted_fresh(batch, of, by, within)
        if not tries:
            rows(100, 200, "bigint").write.format("delta").mode("append").save(str(table))
        tries.append(1)
        return made

    delta.append_once(rows(0, 100, "int"), table="own", columns=MAPPED)
    replace_fresh(fresh)
    delta.append_once(rows(50, 250, "int"), table="own", columns=MAPPED)
    put_back()
    delta.append_once(rows(200, 300, "int"), str(table), columns=MAPPED)
    return {"found": count(spark, table, "at")}


def clustered(spark: SparkSession, table: Path) -> dict[str, Any]:
    spark.sql(
        "CREATE TABLE clustered (topic STRING, partition INT, offset BIGINT, value BINARY) "
        f"USING delta CLUSTER BY (partition, offset) LOCATION '{table}'"
    )
    for start, until in ((0, 100), (50, 150)):
        delta.append_once(frame(spark, 3, start, until), str(table))
    return {"found": count(spark, table, "offset")}


def read_again(spark: SparkSession, table: Path) -> dict[str, Any]:
    """On purpose: deleted records are written again, and a new epoch next to the old one."""
    path = str(table)
    delta.append_once(frame(spark, 0, 0, 100), path)
    spark.sql(f"DELETE FROM delta.`{path}` WHERE offset >= 60")
    deleted = count(spark, table, "offset")
    delta.append_once(frame(spark, 0, 50, 100), path)
    again = count(spark, table, "offset")
    told = refusal(lambda: delta.append_once(frame(spark, 0, 0, 1), path, epoch=1))
    spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMN (epoch INT)")
    for epoch, until in ((1, 80), (1, 100), (2, 10), (None, 100)):
        delta.append_once(frame(spark, 0, 0, until), path, epoch=epoch)
    return {
        "deleted": deleted,
        "again": again,
        "told": told,
        "epochs": count(spark, table, "offset", "epoch"),
    }


def refusal(act: Callable[..., object], *given: object) -> str:
    try:
        act(*given)
    except ZkgroupError as error:
        return str(error)
    return "nothing was refused"


def planned(spark: SparkSession, table: Path) -> dict[str, Any]:
    """By the plan in Spark's offset log: some of a batch, all of it, and rows it does not hold."""
    checkpoint = table.parent / "checkpoint"
    (checkpoint / "offsets").mkdir(parents=True)
    of = plan.PlannedRange(TopicPartition("t", 0), OffsetRange(0, 100), 0, Fence("1.1"))
    logged = json.dumps(plan.encode(plan.Plan("zookeeper", "g", "g_1", (of,))))
    (checkpoint / "offsets" / "5").write_text(f"v1\n{{}}\n{logged}", "utf-8")
    nothing = json.dumps(plan.encode(plan.Plan("zookeeper", "g", "g_1")))
    (checkpoint / "offsets" / "6").write_text(f"v1\n{{}}\n{nothing}", "utf-8")
    take = delta.appender(str(table), checkpointLocation=f"file://{checkpoint}")
    several = frame(spark, 0, 0, 40).withColumn("word", f.explode(f.array(f.lit(1), f.lit(2))))
    take(several.drop("word"), 5)
    take(frame(spark, 0, 20, 100), 5)
    take(frame(spark, 0, 0, 0), 6)
    return {
        "found": count(spark, table, "offset"),
        "strangers": [
            refusal(take, frame(spark, 0, 90, 101), 5),
            refusal(take, frame(spark, 1, 0, 1), 5),
            refusal(take, frame(spark, 0, 0, 1), 6),
        ],
        "null": refusal(
            take, frame(spark, 0, 0, 1).withColumn("topic", f.lit(None).cast("string")), 5
        ),
        "no plan": refusal(take, frame(spark, 0, 0, 1), 7),
        "still": count(spark, table, "offset"),
    }


def compiled_once(spark: SparkSession, _table: Path) -> dict[str, Any]:
    """The code that Spark makes for the rows of two batches whose plans differ."""
    # Not of one constant partition, for which a number would stand in the code after all.
    rows = spark.range(0, 100).selectExpr("'t' topic", "int(id % 4) partition", "id offset")
    by = keys(None, None)
    codes: list[list[str]] = []
    for start, until in ((0, 100), (70_000, 70_100)):
        plans = {TopicPartition("t", p): OffsetRange(start, until) for p in range(4)}
        held = rows.where(by.planned(plans))
        made = held._jdf.queryExecution().debug().codegenToSeq()
        codes.append([str(made.apply(n)._2()) for n in range(made.size())])
    return {"stages": len(codes[0]), "same": codes[0] == codes[1]}


def of_the_session(spark: SparkSession, _table: Path) -> dict[str, Any]:
    jvm: Any = spark._jvm
    return {"checked": jvm.org.apache.arrow.memory.BoundsChecking.BOUNDS_CHECKING_ENABLED}


def refused(spark: SparkSession, table: Path) -> dict[str, Any]:
    parquet = table / "parquet"
    frame(spark, 0, 0, 1).write.parquet(str(parquet))
    nulls = frame(spark, 0, 0, 1).withColumn("offset", f.lit(None).cast("bigint"))
    return {
        "parquet": refusal(lambda: delta.append_once(frame(spark, 0, 0, 1), str(parquet))),
        "nulls": refusal(lambda: delta.append_once(nulls, str(table / "nulls"))),
        "columns": refusal(
            lambda: delta.append_once(frame(spark, 0, 0, 1).drop("topic"), str(table / "none"))
        ),
        **_refused_before_the_query(spark, table, parquet),
    }


def _refused_before_the_query(spark: SparkSession, table: Path, parquet: Path) -> dict[str, str]:
    there, at = str(table / "there"), str(table / "checkpoint")
    delta.append_once(frame(spark, 0, 0, 1), there)
    stream = spark.readStream.format("rate").load().withColumn("topic", f.lit("t"))
    wider = stream.withColumn("partition", f.lit(0)).withColumn("offset", f.lit(0).cast("bigint"))
    return {
        "writer columns": refusal(lambda: delta.writer(stream, there, checkpointLocation=at)),
        "writer new": refusal(lambda: delta.writer(wider, there, checkpointLocation=at)),
        "appender": refusal(lambda: delta.appender(str(parquet), checkpointLocation=at)),
    }


def compacted_meanwhile(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Two writers offer the same records, while OPTIMIZE and VACUUM go round and round."""
    path = str(table)
    delta.append_once(frame(spark, 0, 0, 10), path)
    errors: list[str] = []
    ended = threading.Event()
    rounds: list[int] = []

    def guarded(act: Callable[[], None]) -> None:
        try:
            act()
        except Exception as error:  # noqa: BLE001 - told to the test
            errors.append(f"{type(error).__name__}: {str(error)[:300]}")

    def write() -> None:
        for n in range(12):
            delta.append_once(frame(spark, n % 2, n * 50, n * 50 + 100), path)

    def compact() -> None:
        while not ended.is_set():
            spark.sql(f"OPTIMIZE delta.`{path}`")
            spark.sql(f"VACUUM delta.`{path}`")
            rounds.append(1)

    beside = threading.Thread(target=guarded, args=(compact,))
    writers = [threading.Thread(target=guarded, args=(write,)) for _ in range(2)]
    for thread in (beside, *writers):
        thread.start()
    for writer in writers:
        writer.join()
    ended.set()
    beside.join()
    return {
        "errors": errors,
        "compacted": len(rounds) > 0,
        "found": count(spark, table, "partition", "offset"),
    }
