"""How long a small micro-batch takes: 1,000 rows in 4 tasks, one trigger right after the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles
from typing import Any, Literal

from pyspark.sql import SparkSession

from tests.bench.cases import PARTITIONS, BenchError, Size
from tests.bench.ready_source import ReadySource
from tests.bench.session import fresh, sink_of
from tests.bench.sources import Servers, stream
from tests.bench.throughput import collect_garbage
from tests.bench.topics import Topic

Who = Literal["peer", "ours", "ready"]
EACH: tuple[Who, ...] = ("peer", "ours", "ready")
ROWS = 1_000
# Such a stream brings small batches: a task does not get a thousand records more than it asks for.
BATCH_RECORDS = 50
WARM_UP = 25
COUNTED = 60
ROUNDS = 2
DEADLINE_S = 180.0
SIZE = Size(100, "100B", ROWS * 400)


@dataclass(frozen=True)
class Latency:
    who: Who
    unix_sockets: bool
    trigger_ms: tuple[int, ...]
    add_batch_ms: tuple[int, ...]

    @property
    def p50(self) -> float:
        return float(median(self.trigger_ms))

    @property
    def p95(self) -> float:
        return quantiles(self.trigger_ms, n=20, method="inclusive")[-1]

    @property
    def add_batch_p50(self) -> float:
        return float(median(self.add_batch_ms))


def latencies(
    spark: SparkSession,
    servers: Servers,
    topic: Topic,
    scratch: Path,
    *,
    unix_sockets: bool,
    tell: Callable[[str], None],
    warm_up: int = WARM_UP,
    counted: int = COUNTED,
) -> list[Latency]:
    """The three in turns; each round is a new query, of which the first triggers do not count."""
    spark.dataSource.register(ReadySource)
    found: dict[Who, list[Any]] = {who: [] for who in EACH}
    for number in range(ROUNDS):
        for who in EACH if number % 2 else reversed(EACH):
            tell(f"round {number + 1} of {ROUNDS}, {who}")
            collect_garbage(spark)
            frame = _frame(spark, who, servers, topic)
            found[who] += _triggers(frame, who, scratch, warm_up + counted)[warm_up:]
    return [_latency(who, unix_sockets, found[who]) for who in EACH]


def _latency(who: Who, unix_sockets: bool, progress: Iterable[Any]) -> Latency:
    durations = [p["durationMs"] for p in progress]
    return Latency(
        who,
        unix_sockets,
        tuple(int(d["triggerExecution"]) for d in durations),
        tuple(int(d["addBatch"]) for d in durations),
    )


def _frame(spark: SparkSession, who: Who, servers: Servers, topic: Topic) -> Any:
    if who == "ready":
        options = {"rows": str(ROWS), "tasks": str(PARTITIONS)}
        return spark.readStream.format(ReadySource.name()).options(**options).load()
    return stream(spark, who, servers, topic.name, maxOffsetsPerTrigger=str(ROWS))


def _triggers(frame: Any, who: Who, scratch: Path, wanted: int) -> list[Any]:
    with fresh(scratch / "run") as directory:
        writer = sink_of(frame, "noop", directory).trigger(processingTime="0 seconds")
        query = writer.start()
        try:
            ends = time.monotonic() + DEADLINE_S
            while len(found := _with_rows(query)) < wanted:
                if query.awaitTermination(0.25) or time.monotonic() > ends:
                    raise BenchError(
                        f"trigger latency, {who}: {len(found)} of {wanted} micro-batches "
                        f"after {DEADLINE_S:.0f} s"
                    )
        finally:
            query.stop()
    rows = {p["numInputRows"] for p in found[:wanted]}
    if rows != {ROWS}:
        raise BenchError(
            f"trigger latency, {who}: micro-batches of {sorted(rows)} rows, not {ROWS}"
        )
    return found[:wanted]


def _with_rows(query: Any) -> list[Any]:
    return [p for p in query.recentProgress if p["numInputRows"]]
