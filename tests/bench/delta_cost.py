"""Compares an append that writes each record once with a plain one, on a table that grows.

    python -m tests.bench.delta_cost [--layout flat|partitioned] [--rounds N] [--grow COMMITS]

Each round appends the next rows once in each way, each to a separate table; the medians of the
rounds are compared. Wall time needs a quiet machine; the CPU time of the JVM depends less on other
load. The rows are prepared in a Parquet file, so that only the append is measured.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup import delta, plan
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition

TOPIC, PARTITIONS = "orders", 12
SMALL, LARGE = 100_000, 1_000_000
SUBMIT = "--master local[2] --driver-memory 2g --conf spark.ui.enabled=false pyspark-shell"
# The JVM's compiler is done with the longer way later than with the plain one.
WARM_UP_ROUNDS, AGAIN_ROUNDS = 10, 2


@dataclass
class Way:
    """One way to append, with its own table."""

    name: str
    append: Callable[[DataFrame, int, Path], None]
    walls: list[float] = field(default_factory=list)
    cpus: list[float] = field(default_factory=list)


class Bench:
    def __init__(self, spark: SparkSession, directory: Path, layout: str) -> None:
        self.spark, self.directory, self.layout = spark, directory, layout
        self.jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        self.number = 0
        self.next_offset = 0
        self.checkpoint = directory / "checkpoint"
        (self.checkpoint / "offsets").mkdir(parents=True)

    def ways(self) -> list[Way]:
        def plain(batch: DataFrame, _number: int, table: Path) -> None:
            batch.write.format("delta").mode("append").save(str(table))

        def looked_at(batch: DataFrame, _number: int, table: Path) -> None:
            delta.append_once(batch, str(table))

        def planned(batch: DataFrame, number: int, table: Path) -> None:
            delta.appender(str(table), checkpointLocation=str(self.checkpoint))(batch, number)

        return [Way("plain", plain), Way("appender", planned), Way("append_once", looked_at)]

    def table(self, way: Way) -> Path:
        return self.directory / f"table-{way.name}"

    def make_tables(self, ways: list[Way]) -> None:
        for way in ways:
            rows = self.batch(SMALL, 0).limit(0).write.format("delta")
            if self.layout == "partitioned":
                rows = rows.partitionBy("topic", "partition")
            rows.save(str(self.table(way)))

    def rows(self, count: int) -> DataFrame:
        """As a batch of our source has them: each task has read some partitions."""
        path = self.directory / f"rows-{count}"
        if not path.exists():
            each = count // PARTITIONS
            text = f.expr(
                "cast(concat(md5(cast(id as string)), md5(cast(-id as string))) as binary)"
            )
            self.spark.range(0, each * PARTITIONS, 1, 4).select(
                f.expr("cast(cast(id as string) as binary)").alias("key"),
                text.alias("value"),
                f.lit(TOPIC).alias("topic"),
                (f.col("id") / each).cast("int").alias("partition"),
                (f.col("id") % each).alias("offset"),
                f.timestamp_millis(f.col("id")).alias("timestamp"),
                f.lit(0).alias("timestampType"),
            ).write.parquet(str(path))
        return self.spark.read.parquet(str(path))

    def batch(self, count: int, first: int) -> DataFrame:
        return self.rows(count).withColumn("offset", f.col("offset") + first)

    def round(self, ways: list[Way], count: int) -> None:
        first, self.number = self.next_offset, self.number + 1
        self.next_offset = first + count // PARTITIONS
        self._log_plan(OffsetRange(first, self.next_offset))
        batch = self.batch(count, first)
        # The first one after a pause is slower: each is the first in its turn.
        turn = self.number % len(ways)
        for way in ways[turn:] + ways[:turn]:
            wall, cpu = time.perf_counter(), self.cpu_s()
            way.append(batch, self.number, self.table(way))
            way.walls.append(time.perf_counter() - wall)
            way.cpus.append(self.cpu_s() - cpu)

    def _log_plan(self, r: OffsetRange) -> None:
        fence = Fence("1.1")
        ranges = (
            plan.PlannedRange(TopicPartition(TOPIC, p), r, 0, fence) for p in range(PARTITIONS)
        )
        logged = plan.encode(plan.Plan("zookeeper", "bench", "bench_1", tuple(ranges)))
        path = self.checkpoint / "offsets" / str(self.number)
        path.write_text(f"v1\n{{}}\n{json.dumps(logged)}", "utf-8")

    def commits(self, way: Way) -> int:
        """Delta deletes old commits some day, but not on this one."""
        return len(list((self.table(way) / "_delta_log").glob("*.json")))

    def grow(self, ways: list[Way], commits: int) -> None:
        """Small commits of the same partitions to the first table; the others become its copy."""
        first, commits = self.next_offset, max(0, commits - self.commits(ways[0]))
        for n in range(commits):
            self.batch(SMALL, first + n).where(f.col("offset") == first + n).write.format(
                "delta"
            ).mode("append").save(str(self.table(ways[0])))
        self.next_offset = first + commits
        for way in ways[1:]:
            shutil.rmtree(self.table(way))
            shutil.copytree(self.table(ways[0]), self.table(way))

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.jvm}/stat").read_text("utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def measure(self, ways: list[Way], count: int, rounds: int, what: str) -> None:
        for _ in range(AGAIN_ROUNDS if self.number else WARM_UP_ROUNDS):
            self.round(ways, count)
        for way in ways:
            way.walls.clear()
            way.cpus.clear()
        for _ in range(rounds):
            self.round(ways, count)
        commits = self.commits(ways[0])
        print(f"{what}: {count} rows, {self.layout} table of {commits} commits, {rounds} rounds")
        for way in ways:
            wall, cpu = median(way.walls), median(way.cpus)
            print(
                f"  {way.name:12} {wall:6.3f} s, {wall / median(ways[0].walls):5.2f} x plain;  "
                f"CPU {cpu:6.3f} s, {cpu / median(ways[0].cpus):5.2f} x",
                flush=True,
            )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--layout", choices=["flat", "partitioned"], default="flat")
    arguments.add_argument("--rounds", type=int, default=12)
    arguments.add_argument(
        "--commits",
        type=int,
        nargs="*",
        default=[100, 400],
        help="grow the table to so many commits, and measure again",
    )
    arguments.add_argument("--large-rounds", type=int, default=5)
    given = arguments.parse_args()
    os.environ.setdefault("PYSPARK_SUBMIT_ARGS", SUBMIT)
    directory = Path(tempfile.mkdtemp(prefix="delta-cost"))
    spark = delta.session("delta cost", lambda text: print(text, file=sys.stderr))
    spark.sparkContext.setLogLevel("ERROR")
    try:
        bench = Bench(spark, directory, given.layout)
        ways = bench.ways()
        bench.make_tables(ways)
        bench.measure(ways, SMALL, given.rounds, "new")
        for commits in given.commits:
            bench.grow(ways, commits)
            bench.measure(ways, SMALL, given.rounds, "grown")
        bench.measure(ways, LARGE, given.large_rounds, "large")
    finally:
        spark.stop()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
