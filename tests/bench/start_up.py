"""Compares how long an available-now job of one record takes, from load() to the end of the query.

    python -m tests.bench.start_up [--repeats N] [--cold]

Spark's Kafka source, a Python source that does nothing, and zkgroup with both protocols read in
turn, all from one broker. By default they share a session that has run each of them before. With
--cold each run starts a process and a session, and its time begins with the process.

On a busy machine wall time says little. So the warm comparison also shows the processor time of the
Python processes that Spark starts for each query and waits for; tasks run in others.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.schema import COLUMNS, spark_ddl
from tests.bench.ready_source import ReadyReader
from tests.bench.session import ROOT, fresh, sink_of, spark_session
from tests.harness.producing import produce
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

TOPIC = "start-up"
RIVALS = ("spark's kafka source", "bare python source", "zookeeper", "kafka")
WARM_UPS, REPEATS = 3, 5
ENDS_S = 60.0
PLANNER = b"python_streaming_source_runner"


class OneRowReader(ReadyReader, SupportsTriggerAvailableNow):
    """Ends after one row."""

    def prepareForTriggerAvailableNow(self) -> None:
        pass

    def latestOffset(self, start: Any = None, limit: object = None) -> dict[str, int]:
        return {"rows": 1}


class OneRowSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "zkgroup-bench-one-row"

    def schema(self) -> str:
        return spark_ddl(COLUMNS)

    def streamReader(self, schema: Any) -> OneRowReader:
        return OneRowReader(1, 1)


def options_of(rival: str, bootstrap_servers: str, zookeeper_connect: str) -> dict[str, str]:
    read = {"subscribe": TOPIC, "startingOffsets": "earliest"}
    brokers = {"kafka.bootstrap.servers": bootstrap_servers}
    group = {"group.id": f"bench-{uuid.uuid4().hex[:8]}"}
    return {
        "spark's kafka source": read | brokers,
        "bare python source": {},
        "zookeeper": read | group | {"zookeeper.connect": zookeeper_connect},
        "kafka": read | group | brokers,
    }[rival]


def run(spark: SparkSession, rival: str, options: dict[str, str], scratch: Path) -> None:
    """RuntimeError unless the query reads exactly the one record."""
    form = {"spark's kafka source": "kafka", "bare python source": OneRowSource.name()}
    with fresh(scratch / "run") as directory:
        frame = spark.readStream.format(form.get(rival, "zkgroup")).options(**options).load()
        query = sink_of(frame, "noop", directory).trigger(availableNow=True).start()
        query.awaitTermination()
        rows = sum(one["numInputRows"] for one in query.recentProgress)
    if rows != 1:
        raise RuntimeError(f"{rival} read {rows} rows, not 1")


@dataclass
class Runs:
    seconds: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)


Found = dict[str, Runs]


def ended_children_cpu_s(pid: int) -> float:
    """The processor time of the children that the process has waited for."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK")


def planners_of(pid: int) -> list[Path]:
    """The planners of the session whose JVM this is."""

    def is_planner(process: Path) -> bool:
        try:
            parent = (process / "stat").read_text().rpartition(")")[2].split()[1]
            return int(parent) == pid and PLANNER in (process / "cmdline").read_bytes()
        except OSError:
            return False  # it has ended

    return [process for process in Path("/proc").glob("[0-9]*") if is_planner(process)]


def warm(sandbox: Sandbox, scratch: Path, repeats: int) -> Found:
    found = {rival: Runs() for rival in RIVALS}
    with spark_session(scratch, print) as spark:
        spark.dataSource.register(OneRowSource)
        jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        for number in range(WARM_UPS + repeats):
            for rival in RIVALS if number % 2 else reversed(RIVALS):
                options = options_of(
                    rival, sandbox.bootstrap_servers, sandbox.kafka_zookeeper_connect
                )
                began, cpu = time.monotonic(), ended_children_cpu_s(jvm)
                run(spark, rival, options, scratch)
                seconds = time.monotonic() - began
                # It ends after the query.
                wait_until(lambda: not planners_of(jvm), ENDS_S, "the end of the planner")
                if number >= WARM_UPS:
                    found[rival].seconds.append(seconds)
                    found[rival].cpu_s.append(ended_children_cpu_s(jvm) - cpu)
    return found


def cold(sandbox: Sandbox, scratch: Path, repeats: int) -> Found:
    found = {rival: Runs() for rival in RIVALS}
    for number in range(repeats):
        for rival in RIVALS if number % 2 else reversed(RIVALS):
            began = time.monotonic()
            command = [sys.executable, "-m", "tests.bench.start_up", "--run", rival]
            addresses = [sandbox.bootstrap_servers, sandbox.kafka_zookeeper_connect]
            subprocess.run([*command, *addresses, str(scratch)], check=True, cwd=ROOT)
            found[rival].seconds.append(time.monotonic() - began)
    return found


def alone(rival: str, bootstrap_servers: str, zookeeper_connect: str, scratch: Path) -> None:
    """One run in a new process."""
    with spark_session(scratch, print) as spark:
        if rival == "bare python source":
            spark.dataSource.register(OneRowSource)
        run(spark, rival, options_of(rival, bootstrap_servers, zookeeper_connect), scratch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--cold", action="store_true", help="a new process for each run")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        rival, bootstrap_servers, zookeeper_connect, directory = arguments.run
        alone(rival, bootstrap_servers, zookeeper_connect, Path(directory))
        return
    scratch = Path(tempfile.mkdtemp(prefix="zkgroup-start-up-"))
    try:
        with Sandbox(scratch / "servers", "3.9", say=print) as sandbox:
            sandbox.create_topic(TOPIC, 1)
            produce(sandbox.bootstrap_servers, TopicPartition(TOPIC, 0), [b"value"])
            measure = cold if arguments.cold else warm
            show(measure(sandbox, scratch, arguments.repeats))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def show(found: Found) -> None:
    peer, bare, *_ = (median(found[rival].seconds) for rival in RIVALS)
    print(f"load: {os.getloadavg()[0]:.1f}")
    for rival, runs in found.items():
        middle = median(runs.seconds)
        each = " ".join(f"{one:.2f}" for one in runs.seconds)
        ratios = f"{middle / peer:.2f} x Spark's, {middle / bare:.2f} x bare"
        cpu = f"  Python's CPU {median(runs.cpu_s):.2f} s" if runs.cpu_s else ""
        print(f"{rival:22} {middle:5.2f} s  {ratios}{cpu}  ({each})")


if __name__ == "__main__":
    main()
