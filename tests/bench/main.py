"""Compares zkgroup with Spark's own Kafka source: `make bench`, `make bench-short`.

    python -m tests.bench.main [--short] [--cases NAMES] [--repeats N] [--scale PART]

Everything runs on two cores: one broker, one Spark, both sources in turns. The results so far are
always in build/bench.json, so an interrupted bench is not lost.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.jars.java import find_java
from tests.bench import chart, report, results
from tests.bench.cases import CASES, BenchError, chosen
from tests.bench.course import Course, Plan
from tests.bench.machine import BUSY_LOAD, describe, pin_to_two_cores
from tests.bench.publish import BUILD

SCALE_MAX, REPEATS_MAX = 10.0, 50


def main() -> None:
    arguments = _arguments()
    console = Console(width=None if sys.stdout.isatty() else 160)
    # SIGTERM also ends its servers and deletes its files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    scratch = Path(tempfile.mkdtemp(prefix="zkgroup-bench-"))
    try:
        plan = Plan(
            chosen(arguments.cases, arguments.short),
            arguments.repeats,
            arguments.scale,
            dict(arguments.peer),
        )
        find_java()
        sys.exit(1 if _bench(plan, scratch, arguments.output, console) else 0)
    except (BenchError, ZkgroupError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        sys.exit(f"bench: interrupted; what was measured until then is in {arguments.output}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _bench(plan: Plan, scratch: Path, build: Path, console: Console) -> bool:
    """Whether any case failed."""
    cores = pin_to_two_cores()
    machine = describe(cores)
    if machine.load_at_start > BUSY_LOAD:
        console.print(
            f"This machine is busy (load {machine.load_at_start}): the figures will suffer from "
            "it, both sources' alike at best. Let other work end first.",
            style="yellow",
        )
    began = time.monotonic()
    console.print(f"{len(plan.names)} cases on {machine.cpu}, cores: {cores}")
    log = _log_to(build / "bench.log")
    console.print(f"What Spark and the servers say goes to {log}")
    course = Course(plan, machine, scratch, build / "bench.json", console)
    try:
        course.run()
    finally:
        _show(course.results, build, console)
    console.print(
        f"{(time.monotonic() - began) / 60:.1f} min; {build / 'bench.json'}, {build / 'bench.png'}"
    )
    for failure in course.failures:
        console.print(f"failed: {failure}. See {log}", style="red", highlight=False)
    return bool(course.failures)


def _show(found: list[results.Result], build: Path, console: Console) -> None:
    report.show(found, console)
    if throughput := results.throughput(found):
        environment = results.environment(found)
        subtitle = f"{environment['cpu']}, two cores, PySpark {environment['pyspark']}"
        chart.draw(throughput, subtitle, build / "bench.png")


def _log_to(path: Path) -> Path:
    """Spark's JVM and its workers write to our standard error, whatever we do there ourselves."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    terminal = os.dup(2)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    # Only children lose the terminal: the caller must see the reason for an early end.
    sys.stderr = os.fdopen(terminal, "w", buffering=1)
    return path


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="bench", description="Compares zkgroup with Spark's own Kafka source in one run."
    )
    parser.add_argument("--short", action="store_true", help="five cases, in five minutes")
    parser.add_argument(
        "--cases",
        default="",
        metavar="NAMES",
        help=f"such as {next(iter(CASES))} or 1kB-*; also trigger-latency, decode, memory",
    )
    parser.add_argument("--repeats", type=_between(1, REPEATS_MAX, int), default=3)
    parser.add_argument(
        "--scale",
        type=_between(0.0001, SCALE_MAX, float),
        default=1.0,
        metavar="PART",
        help="of the usual number of records; smaller ones only show that the bench works",
    )
    parser.add_argument(
        "--peer",
        type=_option,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option for Spark's own source, such as kafka.max.poll.records=5000",
    )
    parser.add_argument("--output", type=Path, default=BUILD, metavar="DIRECTORY")
    return parser.parse_args()


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _between(low: float, high: float, kind: type) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            number = kind(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not from {low:g} to {high:g}")
        return number

    return read


if __name__ == "__main__":
    main()
