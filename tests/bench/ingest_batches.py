"""Compares batches of `delta.ingest` with plain appends of as many ready rows by Spark.

    python -m tests.bench.ingest_batches [--rounds N] [--rows N]

Both write a table of their own, partitioned by topic and partition. Ours reads from Kafka; its time
is that of the whole trigger. The rows of the plain append are in a Parquet file, so that only the
append is timed. The first two batches of a new table are shown apart, without their planning too:
the first one is planned when the member has joined its group.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup import delta
from tests.bench.cases import PARTITIONS, BenchError, Size
from tests.bench.delta_sink import PARTITION_BY
from tests.bench.session import JavaCodecs, fresh, spark_session
from tests.bench.sources import Servers, our_options
from tests.bench.topics import filled_topic
from zkgroup_sandbox import Sandbox

BATCHES, ENDS_S = 20, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3, help="the first one does not count")
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    size = Size(100, "100B", given.rows * BATCHES)
    with (
        tempfile.TemporaryDirectory(prefix="zkgroup-batches-", ignore_cleanup_errors=True) as made,
        Sandbox(Path(made) / "servers", "3.9", say=print) as sandbox,
        spark_session(Path(made), print, delta=True) as spark,
        filled_topic(sandbox, size, "lz4", JavaCodecs(spark)) as topic,
    ):
        scratch = Path(made)
        ready = made_ready(spark, sandbox, topic.name, given.rows, scratch / "ready")
        ours: list[float] = []
        plain: list[float] = []
        firsts: list[str] = []
        for number in range(given.rounds + 1):
            took = ingested(spark, sandbox, topic.name, given.rows, scratch)
            appended = plainly(spark, ready, scratch)
            if number:
                ours += [whole for whole, _ in took[1:]]
                plain += appended[1:]
                firsts += [
                    f"{whole:.2f} s ({written:.2f} without planning)" for whole, written in took[:2]
                ]
        show(given.rows, ours, plain)
        print(f"first and second batches of ours: {', '.join(firsts)}")


def made_ready(spark: SparkSession, sandbox: Sandbox, topic: str, rows: int, to: Path) -> Path:
    each = rows // PARTITIONS
    frame = spark.read.format("zkgroup").options(**our_options(Servers.of(sandbox), topic)).load()
    frame.where(f"offset < {each}").write.parquet(str(to))
    return to


def ingested(
    spark: SparkSession, sandbox: Sandbox, topic: str, rows: int, scratch: Path
) -> list[tuple[float, float]]:
    """Seconds of each trigger, and of its addBatch."""
    options = our_options(Servers.of(sandbox), topic) | {"maxOffsetsPerTrigger": str(rows)}
    with fresh(scratch / "run") as directory:
        writer = delta.ingest(
            spark,
            options,
            str(directory / "table"),
            checkpointLocation=str(directory / "checkpoint"),
            partition_by=PARTITION_BY,
        )
        query = writer.trigger(availableNow=True).start()
        if not query.awaitTermination(ENDS_S):
            raise BenchError(f"no end after {ENDS_S} s")
        progress: list[Any] = [p for p in query.recentProgress if p["numInputRows"]]
        if len(progress) != BATCHES:
            raise BenchError(f"{len(progress)} batches, not {BATCHES}")
        found = [p["durationMs"] for p in progress]
        return [(one["triggerExecution"] / 1000, one["addBatch"] / 1000) for one in found]


def plainly(spark: SparkSession, ready: Path, scratch: Path) -> list[float]:
    with fresh(scratch / "run") as directory:
        took = []
        for _ in range(BATCHES):
            batch = spark.read.parquet(str(ready))
            began = time.perf_counter()
            writer = batch.write.format("delta").mode("append").partitionBy(*PARTITION_BY)
            writer.save(str(directory / "table"))
            took.append(time.perf_counter() - began)
        return took


def show(rows: int, ours: list[float], plain: list[float]) -> None:
    for name, took in (("delta.ingest", ours), ("plain append", plain)):
        print(
            f"{name}: {len(took)} batches of {rows} rows, median {median(took):.3f} s, "
            f"{min(took):.3f} to {max(took):.3f} s"
        )
    print(f"delta.ingest / plain append: {median(ours) / median(plain):.2f}")


if __name__ == "__main__":
    main()
