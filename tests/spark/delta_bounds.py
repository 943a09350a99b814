"""Scenes of batches with a plan, whose rows are compared with the table only below its bounds
(delta_scenes.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup import delta, plan
from pyspark_zkgroup.delta import bounded
from pyspark_zkgroup.delta.append import Appender
from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.ranges import Box
from pyspark_zkgroup.delta.staging import STAGING, StagedFile
from pyspark_zkgroup.delta.table import Table
from pyspark_zkgroup.model import Fence, Mark, OffsetRange, TopicPartition
from tests.spark.delta_races import frame, put_back, replace_fresh, unplanted_fresh
from tests.spark.delta_tables import count, refusal

ID = "Yw1hPrQ2TDmM0gQsk4UoYQ"
P0 = TopicPartition("t", 0)


class Planned:
    """A query's checkpoint, and the appends of its batches."""

    def __init__(self, table: Path, checkpoint: str = "checkpoint", **given: Any) -> None:
        self._checkpoint = table.parent / f"{table.name}-{checkpoint}"
        (self._checkpoint / "offsets").mkdir(parents=True)
        self._append: Appender = delta.appender(
            str(table), checkpointLocation=f"file://{self._checkpoint}", **given
        )
        self._batch = -1

    def take(self, batch: DataFrame, ranges: dict[int, tuple[int, int]]) -> None:
        self._batch += 1
        self.log(self._batch, ranges)
        self._append(batch, self._batch)

    def log(self, batch: int, ranges: dict[int, tuple[int, int]]) -> None:
        planned = tuple(
            plan.PlannedRange(
                TopicPartition("t", p), OffsetRange(*r), 0, Fence("1.1"), mark=Mark(0, ID)
            )
            for p, r in ranges.items()
        )
        text = json.dumps(plan.encode(plan.Plan("kafka", "g", "g_1", planned)))
        (self._checkpoint / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{text}", "utf-8")


@contextmanager
def comparisons() -> Iterator[list[tuple[Box, ...]]]:
    """What is compared with the table meanwhile."""
    made: list[tuple[Box, ...]] = []

    def fresh(batch: DataFrame, of: Table, by: Keys, within: tuple[Box, ...]) -> DataFrame:
        made.append(within)
        return unplanted_fresh(batch, of, by, within)

    replace_fresh(fresh)
    try:
        yield made
    finally:
        put_back()


def bound(table: Path) -> int | None:
    return DeltaTable(str(table)).transaction_version(deltars.bound_of(P0, None))


def steady(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Batches that follow each other, one that is filtered, then replays of them."""
    # What a driver leaves that was killed while it made the table.
    (table / "_delta_log").mkdir(parents=True)
    member = Planned(table)
    with comparisons() as made:
        member.take(frame(spark, 0, 0, 100), {0: (0, 100), 1: (0, 40)})
        several = frame(spark, 0, 100, 120).withColumn(
            "word", f.explode(f.array(f.lit(1), f.lit(2)))
        )
        member.take(several.drop("word"), {0: (100, 150)})
        member.take(frame(spark, 0, 0, 0), {0: (150, 200)})
        member.take(frame(spark, 0, 200, 210), {0: (200, 210)})
        compared_at_first = len(made)
        # A replay with other boundaries, and what another member has left out.
        member.take(frame(spark, 0, 90, 230), {0: (90, 230)})
    return {
        "compared at first": compared_at_first,
        "compared": [[(box.lowest, box.highest) for box in boxes] for boxes in made],
        "found": count(spark, table, "offset"),
        "bound": bound(table),
        "left over": [str(one) for one in (table / STAGING).iterdir()],
    }


def all_types(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Spark and delta-rs read the same rows, also by their statistics."""
    spark.sql(
        "CREATE TABLE all_types (topic STRING, partition BIGINT, offset BIGINT, day DATE, "
        "name STRING, Price DECIMAL(7, 2), at TIMESTAMP, s STRUCT<a: INT, b: STRING>, "
        f"tags ARRAY<STRING>, x DOUBLE) USING delta PARTITIONED BY (day, name) LOCATION '{table}'"
    )
    rows = frame(spark, 0, 0, 60).selectExpr(
        "topic",
        "partition",
        "offset",
        "date_add(DATE'2026-11-24', int(offset % 2)) AS day",
        "element_at(array('a/ b=%', 'ä', '', null), int(offset % 4) + 1) AS name",
        "cast(offset / 7 AS DECIMAL(7, 2)) AS price",
        "timestamp_micros(1780000000000000 + offset * 1001) AS at",
        "named_struct('a', int(offset), 'b', if(offset % 3 = 0, null, string(offset))) AS s",
        "array(string(offset)) AS tags",
        "if(offset = 5, double('NaN'), offset / 2) AS x",
    )
    Planned(table).take(rows, {0: (0, 60)})
    spark_rows = spark.read.format("delta").load(str(table))
    other = DeltaTable(str(table))
    by_spark = sorted((r.asDict(recursive=True) for r in spark_rows.collect()), key=_offset)
    by_deltars = sorted(other.to_pyarrow_table().to_pylist(), key=_offset)
    for row in by_spark:
        row["at"] = row["at"].timestamp()
    for row in by_deltars:
        row["at"] = row["at"].timestamp()
    filters = {
        "at": "at >= timestamp_micros(1780000000000000 + 50 * 1001)",
        "price": "price > 7",
        "s": "s.a >= 50 AND s.b > '5'",
        "name": "name = 'a/ b=%'",
        "none": "name IS NULL",
    }
    added = pa.table(other.get_add_actions(flatten=True)).to_pylist()
    # Delta takes the empty text for null.
    rows = rows.withColumn("name", f.expr("nullif(name, '')"))
    return {
        "rows": len(by_spark),
        "same": repr(by_spark) == repr(by_deltars),
        "counts": {n: spark_rows.where(text).count() for n, text in filters.items()},
        "expected": {n: rows.where(text).count() for n, text in filters.items()},
        "bounded": sorted(
            {name for file in added for name, bound in file.items() if bound is not None}
        ),
    }


def _offset(row: dict[str, Any]) -> int:
    return int(row["offset"])


def rival_before_the_commit(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Files are written and not committed when a rival appends some of the same records."""
    member, rival = Planned(table), Planned(table, "rival")
    member.take(frame(spark, 0, 0, 10), {0: (0, 10)})
    staged = bounded.staged  # type: ignore[attr-defined]
    writes: list[int] = []

    @contextmanager
    def overtaken(*given: Any) -> Iterator[list[StagedFile]]:
        with staged(*given) as files:
            writes.append(1)
            if len(writes) == 1:
                rival.take(frame(spark, 0, 10, 30), {0: (10, 30)})
            yield files

    bounded.staged = overtaken  # type: ignore[assignment,attr-defined]
    try:
        member.take(frame(spark, 0, 10, 50), {0: (10, 50)})
    finally:
        bounded.staged = staged  # type: ignore[attr-defined]
    return {"writes": len(writes), "found": count(spark, table, "offset"), "bound": bound(table)}


def answer_lost(spark: SparkSession, table: Path) -> dict[str, Any]:
    """The commit is made, and its answer is lost."""
    member = Planned(table)
    member.take(frame(spark, 0, 0, 10), {0: (0, 10)})
    commit = deltars.commit
    lost: list[int] = []

    def failing(*given: Any) -> None:
        commit(*given)
        if not lost:
            lost.append(1)
            raise OSError("the answer is lost")

    deltars.commit = failing  # type: ignore[assignment]
    try:
        member.take(frame(spark, 0, 10, 20), {0: (10, 20)})
    finally:
        deltars.commit = commit
    return {"lost": len(lost), "found": count(spark, table, "offset")}


def taken_over(spark: SparkSession, table: Path) -> dict[str, Any]:
    """A table with a hole, of append_once, which appends next to the member from then on."""
    path = str(table)
    delta.append_once(frame(spark, 0, 0, 20), path)
    delta.append_once(frame(spark, 0, 40, 60), path)
    before = bound(table)
    member = Planned(table)
    member.take(frame(spark, 0, 10, 50), {0: (10, 50)})
    first = bound(table)
    read = delta.append_once(frame(spark, 0, 90, 100), path)
    ahead = bound(table)
    with comparisons() as made:
        member.take(frame(spark, 0, 50, 110), {0: (50, 110)})
        member.take(frame(spark, 0, 110, 120), {0: (110, 120)})
    spark.sql(f"DELETE FROM delta.`{path}` WHERE offset < 5")
    delta.append_once(frame(spark, 0, 0, 3), path)
    return {
        "bounds": [before, first, ahead, bound(table)],
        "read": read,
        "compared": len(made),
        "found": count(spark, table, "offset"),
    }


def by_hand(spark: SparkSession, table: Path) -> dict[str, Any]:
    """DELETE, RESTORE, OPTIMIZE and CLONE of a table that keeps bounds."""
    path, clone = str(table), table.parent / "a-clone"
    member = Planned(table)
    for start in (0, 10, 20):
        member.take(frame(spark, 0, start, start + 10), {0: (start, start + 10)})
    spark.sql(f"OPTIMIZE delta.`{path}`")
    spark.sql(f"CREATE TABLE delta.`{clone}` SHALLOW CLONE delta.`{path}`")
    spark.sql(f"DELETE FROM delta.`{path}` WHERE offset BETWEEN 5 AND 7")
    deleted = count(spark, table, "offset")
    member.take(frame(spark, 0, 0, 10), {0: (0, 10)})
    again = count(spark, table, "offset")
    spark.sql(f"RESTORE TABLE delta.`{path}` TO VERSION AS OF 2")
    restored = count(spark, table, "offset")
    member.take(frame(spark, 0, 5, 40), {0: (5, 40)})
    other = Planned(clone)
    other.take(frame(spark, 0, 25, 40), {0: (25, 40)})
    return {
        "deleted": deleted,
        "again": again,
        "restored": restored,
        "found": count(spark, table, "offset"),
        "clone": count(spark, clone, "offset"),
        "marks of clone": [
            DeltaTable(str(clone)).transaction_version(deltars.bound_of(P0, None)),
            deltars.WATERMARKED in DeltaTable(str(clone)).metadata().configuration,
        ],
    }


def not_suited(spark: SparkSession, table: Path) -> dict[str, Any]:
    """Tables that need Spark's writer are compared as a whole, and none changes unnoticed."""
    path, checked = str(table), table.parent / "checked"
    spark.sql(
        f"CREATE TABLE delta.`{checked}` (topic STRING, partition INT, offset BIGINT NOT NULL, "
        "value BINARY) USING delta"
    )
    spark.sql(f"ALTER TABLE delta.`{checked}` ADD CONSTRAINT small CHECK (offset < 1000)")
    member = Planned(checked)
    with comparisons() as made:
        member.take(frame(spark, 0, 0, 10), {0: (0, 10)})
        member.take(frame(spark, 0, 5, 20), {0: (5, 20)})
    other = Planned(table)
    other.take(frame(spark, 0, 0, 10), {0: (0, 10)})
    wider = frame(spark, 0, 10, 20).withColumn("more", f.lit(1))
    narrow = refusal(other.take, wider, {0: (10, 20)})
    spark.conf.set("spark.databricks.delta.schema.autoMerge.enabled", "true")
    other.take(wider, {0: (10, 20)})
    spark.conf.unset("spark.databricks.delta.schema.autoMerge.enabled")
    spark.sql(f"ALTER TABLE delta.`{path}` ADD CONSTRAINT small CHECK (offset < 1000)")
    return {
        "compared": len(made),
        "found": count(spark, checked, "offset"),
        "narrow": narrow,
        "wider": count(spark, table, "offset", "more"),
        "while it runs": refusal(other.take, wider, {0: (10, 20)}),
        "at the start": refusal(Planned, table, "again"),
        "once": refusal(delta.append_once, wider, path),
    }


SCENES: dict[str, Callable[[SparkSession, Path], dict[str, Any]]] = {
    "steady": steady,
    "all types": all_types,
    "overtaken": rival_before_the_commit,
    "answer lost": answer_lost,
    "taken over": taken_over,
    "by hand": by_hand,
    "not suited": not_suited,
}
