"""What a task's Python worker takes beyond its idle size: seen from outside, by the system."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from pyspark.sql import SparkSession

from tests.bench.cases import DELTA, BenchError, Case, Size
from tests.bench.payload import Pack
from tests.bench.sources import Servers
from tests.bench.throughput import run
from tests.bench.topics import Topic, filled_topic
from tests.spark.processes import find_all_below
from zkgroup_sandbox import Sandbox

MIB = 1024 * 1024
IDLE = Size(100, "idle", 4_000)
LONG = Size(100, "10M", 10_000_000)
LARGE = Size(50 * MIB, "50MB", 6)
CASES = (Case(LONG, "none", "noop"), Case(LONG, "none", DELTA), Case(LARGE, "none", "noop"))


@dataclass(frozen=True)
class Memory:
    what: str
    rows: int
    idle_mb: float
    peak_mb: float

    @property
    def above_mb(self) -> float:
        return self.peak_mb - self.idle_mb


def worker_memory(
    spark: SparkSession, sandbox: Sandbox, scratch: Path, case: Case, pack: Pack
) -> Memory:
    """One partition, so one task and one range. In a fresh session: a worker's peak stays."""
    former = _workers()
    _read(spark, sandbox, scratch, replace(case, size=IDLE), pack)
    idle = max(_status(pid, "VmRSS") for pid in _new(former))
    topic = _read(spark, sandbox, scratch, case, pack)
    peak = max(_status(pid, "VmHWM") for pid in _new(former))
    return Memory(named(case), topic.rows, idle, peak)


def named(case: Case) -> str:
    """Records that are discarded are the usual ones."""
    sink = "" if case.sink == "noop" else f"-{case.sink}"
    return f"{case.size.name}-{case.codec}{sink}"


def _read(spark: SparkSession, sandbox: Sandbox, scratch: Path, case: Case, pack: Pack) -> Topic:
    with filled_topic(sandbox, case.size, case.codec, pack, partitions=1) as topic:
        run(spark, case, "ours", topic, Servers.of(sandbox), scratch)
        return topic


def _workers() -> set[int]:
    """Spark forks its Python workers from a daemon, and they wait for more work. A daemon of a
    former session and its workers may take a while to end.
    """
    return set(find_all_below(os.getpid(), "pyspark.daemon"))


def _new(former: set[int]) -> set[int]:
    found = _workers() - former
    if not found:
        raise BenchError("memory: Spark has no Python worker left whose size could be looked at")
    return found


def _status(pid: int, name: str) -> float:
    """In megabytes."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError as error:
        raise BenchError(f"the memory of process {pid} cannot be read: {error}") from error
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{name}:"))
