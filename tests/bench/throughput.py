"""Rows per second: one available-now query that reads a whole topic, timed by its own progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow.dataset
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.bench import typed
from tests.bench.cases import SINKS, BenchError, Case
from tests.bench.delta_sink import into_delta
from tests.bench.session import fresh, sink_of
from tests.bench.sources import SIDES, Servers, Side
from tests.bench.topics import Topic

RUN_DEADLINE_S = 300


@dataclass(frozen=True)
class Run:
    rows: int
    batch_s: float
    """addBatch: the tasks read, the sink takes."""
    trigger_s: float
    """triggerExecution: with planning and Spark's logs; for ours also joining a new group."""
    wall_s: float
    """From start() to the end of the query: with the start of processes."""


@dataclass(frozen=True)
class Compared:
    case: Case
    topic: Topic
    ours: tuple[Run, ...]
    peer: tuple[Run, ...]

    def rows_s(self, side: Side, clock: str = "batch_s") -> float:
        runs = self.ours if side == "ours" else self.peer
        return float(median(run.rows / getattr(run, clock) for run in runs))

    def ratio(self, clock: str = "batch_s") -> float:
        return self.rows_s("ours", clock) / self.rows_s("peer", clock)


def compare(
    spark: SparkSession,
    case: Case,
    topic: Topic,
    servers: Servers,
    scratch: Path,
    *,
    repeats: int,
    warm_ups: int,
    tell: Callable[[str], None],
) -> Compared:
    """Warm-ups of both that do not count, then in turns; who begins changes every time."""
    runs: dict[Side, list[Run]] = {"ours": [], "peer": []}
    for number in range(1 - warm_ups, repeats + 1):
        for side in SIDES if number % 2 else tuple(reversed(SIDES)):
            tell(f"run {number} of {repeats}, {side}" if number > 0 else f"warm-up, {side}")
            found = run(spark, case, side, topic, servers, scratch)
            if number > 0:
                runs[side].append(found)
    return Compared(case, topic, tuple(runs["ours"]), tuple(runs["peer"]))


def run(
    spark: SparkSession, case: Case, side: Side, topic: Topic, servers: Servers, scratch: Path
) -> Run:
    collect_garbage(spark)
    with fresh(scratch / "run") as directory:
        if case.is_delta:
            writer = into_delta(spark, case, side, servers, topic.name, directory)
        else:
            frame = typed.frame(spark, case, side, servers, topic.name)
            sink = case.sink if case.sink in SINKS else "noop"
            writer = sink_of(frame, sink, directory)
        writer = writer.trigger(availableNow=True)
        began = time.perf_counter()
        query = writer.start()
        ended = query.awaitTermination(RUN_DEADLINE_S)
        wall_s = time.perf_counter() - began
        if not ended:
            query.stop()
            raise BenchError(f"{case.name}, {side}: no end after {RUN_DEADLINE_S} s")
        found = timed([p for p in query.recentProgress if p["numInputRows"]], wall_s)
        written = _written(directory / "rows") if case.sink == "parquet" else found.rows
        if case.is_delta:
            written = DeltaTable(str(directory / "rows")).count()
            # Our query's rows are descriptions of files.
            found = replace(found, rows=written) if side == "ours" else found
    for what, rows in (("read", found.rows), ("written", written)):
        if rows != topic.rows:
            raise BenchError(
                f"{case.name}, {side}: {rows} rows {what}, but {topic.name} holds {topic.rows}"
            )
    return found


def timed(progress: list[Any], wall_s: float) -> Run:
    def seconds(what: str) -> float:
        return float(sum(p["durationMs"][what] for p in progress)) / 1000

    return Run(
        rows=sum(p["numInputRows"] for p in progress),
        batch_s=seconds("addBatch"),
        trigger_s=seconds("triggerExecution"),
        wall_s=wall_s,
    )


def collect_garbage(spark: SparkSession) -> None:
    """What one left behind is not collected on the other's time."""
    jvm: Any = spark.sparkContext._jvm
    jvm.java.lang.System.gc()


def _written(directory: Path) -> int:
    files = [str(path) for path in directory.glob("*.parquet")]
    return int(pyarrow.dataset.dataset(files, format="parquet").count_rows())
