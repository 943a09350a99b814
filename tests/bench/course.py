"""The order of a bench: which case runs when, in which Spark, and what it prints."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from pyspark_zkgroup.errors import ZkgroupError
from tests.bench import memory, results, trigger, typed
from tests.bench.cases import (
    CASES,
    CODECS,
    DECODE,
    MEMORY,
    SIZES,
    TRIGGER,
    BenchError,
    Size,
    by_topic,
)
from tests.bench.decode import ROUNDS as DECODE_ROUNDS
from tests.bench.decode import decode
from tests.bench.machine import Machine
from tests.bench.session import JavaCodecs, settings, spark_session
from tests.bench.sources import Servers
from tests.bench.throughput import compare
from tests.bench.topics import filled_topic
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.kafka_jars import KAFKA_VERSIONS

KAFKA = "3.9"
BROKER_HEAP_MB = 1024
# The first case finds a cold JVM: what it compiles then, all later ones use.
WARM_UPS_FIRST = 3
ERROR_SHOWN = 300
DECODE_ROWS = 2_000_000
PEER = "spark-sql-kafka-0-10 of the same Spark, with "
TOPICS = (
    "4 partitions, batches of 64 kB before compression, compressed by Kafka's Java library; "
    "each record has a key and a JSON value of repeated names, random numbers and words"
)
Failed = (BenchError, ZkgroupError, PySparkException, Py4JError, OSError)


@dataclass(frozen=True)
class Plan:
    names: tuple[str, ...]
    repeats: int
    scale: float
    peer_options: Mapping[str, str] = field(default_factory=dict)

    def scaled(self, size: Size) -> Size:
        return replace(size, rows=max(1, int(size.rows * self.scale)))

    @property
    def records(self) -> set[str]:
        """Return the names of the records that are read."""
        return {size.name for size, _ in by_topic(self.names)}

    @property
    def steps(self) -> int:
        """Return the number of steps: see the calls of `tell`."""
        cases = sum(name in CASES for name in self.names)
        runs = cases * 2 * (self.repeats + 1) + (2 * (WARM_UPS_FIRST - 1) if cases else 0)
        triggers = 2 * trigger.ROUNDS * len(trigger.EACH) if TRIGGER in self.names else 0
        decodes = len(CODECS) if DECODE in self.names else 0
        memories = len(memory.CASES) if MEMORY in self.names else 0
        return runs + triggers + decodes + memories


class Course:
    def __init__(
        self, plan: Plan, machine: Machine, scratch: Path, output: Path, console: Console
    ) -> None:
        self.plan, self.scratch = plan, scratch
        self.failures: list[str] = []
        self.results: list[results.Result] = []
        self._machine, self._output, self._console = machine, output, console
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:.0f}/{task.total:.0f}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._progress.add_task("starting", total=plan.steps)

    def run(self) -> None:
        names = self.plan.names
        with (
            self._progress,
            Sandbox(
                self.scratch / "servers",
                KAFKA,
                kafka_heap_mb=BROKER_HEAP_MB,
                registry=typed.AVRO in self.plan.records,
                say=self._say,
            ) as sandbox,
        ):
            with self._spark(unix_sockets=True) as spark:
                self._note_environment()
                self._throughput(spark, sandbox)
                if DECODE in names:
                    self._decode(spark)
                if TRIGGER in names:
                    self._trigger(spark, sandbox, unix_sockets=True)
            if TRIGGER in names:
                with self._spark(unix_sockets=False) as spark:
                    self._trigger(spark, sandbox, unix_sockets=False)
            if MEMORY in names:
                self._memory(sandbox)

    # -- the measurements

    def _throughput(self, spark: SparkSession, sandbox: Sandbox) -> None:
        warm_ups = WARM_UPS_FIRST
        for (size, codec), cases in by_topic(self.plan.names).items():
            with self._case(f"{size.name}-{codec}"):
                self._tell(f"{size.name}-{codec}: filling the topic", steps=0)
                pack = JavaCodecs(spark)
                wanted, make_event = self.plan.scaled(size), typed.event_of(size.name, sandbox)
                with filled_topic(sandbox, wanted, codec, pack, make_event=make_event) as topic:
                    for case in cases:
                        with self._case(case.name):
                            found = compare(
                                spark,
                                case,
                                topic,
                                Servers.of(sandbox, self.plan.peer_options),
                                self.scratch,
                                repeats=self.plan.repeats,
                                warm_ups=warm_ups,
                                tell=self._teller(case.name),
                            )
                            warm_ups = 1
                            self._add(results.of_throughput(found))

    def _decode(self, spark: SparkSession) -> None:
        for codec in CODECS:
            with self._case(f"{DECODE}-{codec}"):
                self._tell(f"{DECODE}, {codec}, {DECODE_ROUNDS} times")
                rows = max(10_000, int(DECODE_ROWS * min(1.0, self.plan.scale)))
                found = decode(SIZES[0], codec, JavaCodecs(spark), rows)
                self._add(results.of_decode(found))

    def _trigger(self, spark: SparkSession, sandbox: Sandbox, *, unix_sockets: bool) -> None:
        part = min(1.0, self.plan.scale)
        with (
            self._case(TRIGGER),
            filled_topic(
                sandbox,
                trigger.SIZE,
                "none",
                JavaCodecs(spark),
                batch_records=trigger.BATCH_RECORDS,
            ) as topic,
        ):
            found = trigger.latencies(
                spark,
                Servers.of(sandbox, self.plan.peer_options),
                topic,
                self.scratch,
                unix_sockets=unix_sockets,
                tell=self._teller(f"{TRIGGER}, {'Unix sockets' if unix_sockets else 'TCP'}"),
                warm_up=max(1, int(trigger.WARM_UP * part)),
                counted=max(5, int(trigger.COUNTED * part)),
            )
            for result in results.of_latencies(found):
                self._add(result)

    def _memory(self, sandbox: Sandbox) -> None:
        for case in memory.CASES:
            name = memory.named(case)
            with self._case(f"{MEMORY}-{name}"), self._spark() as spark:
                self._tell(f"{MEMORY}, {name}")
                # Few large records are few already.
                few = case.size is memory.LARGE
                wanted = case if few else replace(case, size=self.plan.scaled(case.size))
                found = memory.worker_memory(
                    spark, sandbox, self.scratch, wanted, JavaCodecs(spark)
                )
                self._add(results.of_memory(found))

    # -- what is printed and kept

    def _note_environment(self) -> None:
        self._add(
            {
                "case": results.ENVIRONMENT,
                **self._machine.as_dict(),
                "kafka": KAFKA_VERSIONS[KAFKA],
                "spark": settings(unix_sockets=True),
                "topics": TOPICS,
                "repeats": self.plan.repeats,
                "scale": self.plan.scale,
                "peer": PEER
                + (
                    ", ".join(f"{k}={v}" for k, v in self.plan.peer_options.items())
                    or "its defaults"
                ),
            }
        )

    def _add(self, result: results.Result) -> None:
        """The environment comes last in the file, so that a reader finds the cases first."""
        self.results.append(result)
        self.results.sort(key=lambda r: r["case"] == results.ENVIRONMENT)
        results.write(self.results, self._output)
        if told := told_of(result):
            self._say(told)

    @contextmanager
    def _case(self, name: str) -> Iterator[None]:
        """One that fails does not take the others with it."""
        try:
            yield
        except Failed as error:
            os.write(2, traceback.format_exc().encode())  # where the log is
            self.failures.append(f"{name}: {_in_a_line(error)}")
            self._say(f"{name} failed: {_in_a_line(error)}")

    def _spark(self, *, unix_sockets: bool = True) -> Any:
        delta = any(CASES[name].is_delta for name in self.plan.names if name in CASES)
        return spark_session(
            self.scratch,
            self._say,
            unix_sockets=unix_sockets,
            delta=delta,
            more_jars=self._more_jars,
        )

    @cached_property
    def _more_jars(self) -> list[Path]:
        """Of the peer's functions. Not every repository has all of them."""
        found: list[Path] = []
        for name, jars in typed.JARS.items():
            if name in self.plan.records:
                with self._case(name):
                    found += jars(self._say)
        return found

    def _teller(self, name: str) -> Callable[[str], None]:
        return lambda text: self._tell(f"{name}: {text}")

    def _tell(self, text: str, steps: int = 1) -> None:
        self._progress.update(self._task, description=text, advance=steps)
        if steps == 0 and not self._console.is_terminal:
            self._say(text)  # a sign of life where no bar is drawn

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False)


def _in_a_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= ERROR_SHOWN else text[:ERROR_SHOWN] + " ..."


def told_of(result: results.Result) -> str:
    """A line for who waits."""
    name = result["case"]
    if name in CASES:
        ours, peer = result["ours_rows_s"] / 1e6, result["peer_rows_s"] / 1e6
        return f"{name}: {ours:.2f} M rows/s, the peer {peer:.2f} M, ratio {result['ratio']:.2f}"
    shown = {k: v for k, v in result.items() if isinstance(v, int | float)}
    if name == results.ENVIRONMENT:
        return ""
    return f"{name}: " + ", ".join(f"{k} {v:,}" for k, v in shown.items())
