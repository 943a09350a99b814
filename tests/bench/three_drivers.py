"""Shows whether three drivers on two cores keep up with a topic that is being produced to.

    python -m tests.bench.three_drivers [--rate N] [--seconds N]

They are members of one group, and append to one table by `delta.ingest`, in batches of one second.
Shown is what the table lacks of the topic, as seconds of production.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import median

from deltalake import DeltaTable
from kafka import KafkaConsumer, TopicPartition

from pyspark_zkgroup import delta
from tests.bench.cases import BenchError
from tests.bench.delta_sink import PARTITION_BY
from tests.bench.session import ROOT, spark_session
from tests.bench.sources import Servers, our_options
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Paced

TOPIC, PARTITIONS, DRIVERS = "three", 12, 3
STARTS_S, LOOK_S = 180.0, 2.0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=float, default=5000, help="records a second")
    parser.add_argument("--seconds", type=int, default=180, help="to look, from the last join on")
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        number, group, zookeeper_connect, directory = given.run
        drive(number, group, zookeeper_connect, Path(directory))
        return
    with (
        tempfile.TemporaryDirectory(prefix="zkgroup-three-", ignore_cleanup_errors=True) as made,
        Sandbox(Path(made) / "servers", "3.9", say=print) as sandbox,
    ):
        measure(sandbox, given.rate, given.seconds, Path(made))


def measure(sandbox: Sandbox, rate: float, seconds: int, scratch: Path) -> None:
    sandbox.create_topic(TOPIC, PARTITIONS)
    servers = Servers.of(sandbox)
    group = our_options(servers, TOPIC)["group.id"]
    drivers = [start(f"{n}", group, servers, scratch) for n in range(DRIVERS)]
    try:
        with Paced(sandbox.bootstrap_servers, TOPIC, rate):
            joined = [scratch / f"{n}.joined" for n in range(DRIVERS)]
            wait_until(lambda: all(one.exists() for one in joined), STARTS_S, "three first batches")
            lags = looked(sandbox.bootstrap_servers, scratch / "table", rate, seconds)
        table = DeltaTable(str(scratch / "table"))
        print(f"{table.version()} commits, {len(table.file_uris())} files, {table.count()} rows")
        thirds = [lags[n * len(lags) // 3 : (n + 1) * len(lags) // 3] for n in range(3)]
        shown = ", ".join(f"{median(one):.1f} s (at most {max(one):.1f})" for one in thirds)
        print(f"lag at {rate:g} records/s, median of each third of {seconds} s: {shown}")
        if any(one.poll() is not None for one in drivers):
            raise BenchError("a driver has ended")
    finally:
        for one in drivers:
            one.send_signal(signal.SIGTERM)
        for one in drivers:
            one.wait()


def looked(bootstrap_servers: str, table: Path, rate: float, seconds: int) -> list[float]:
    partitions = [TopicPartition(TOPIC, n) for n in range(PARTITIONS)]
    consumer = KafkaConsumer(bootstrap_servers=bootstrap_servers)
    lags: list[float] = []
    pause = threading.Event()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        produced = sum(consumer.end_offsets(partitions).values())
        lags.append((produced - DeltaTable(str(table)).count()) / rate)
        pause.wait(LOOK_S)
    consumer.close()
    return lags


def start(number: str, group: str, servers: Servers, scratch: Path) -> subprocess.Popen[bytes]:
    given = ["--run", number, group, servers.zookeeper_connect, str(scratch)]
    with (scratch / f"{number}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.bench.three_drivers", *given],
            cwd=ROOT,
            stdout=log,
            stderr=log,
        )


def drive(number: str, group: str, zookeeper_connect: str, scratch: Path) -> None:
    options = our_options(Servers(zookeeper_connect, ""), TOPIC) | {"group.id": group}
    with spark_session(scratch, print) as spark:
        query = delta.ingest(
            spark,
            options,
            str(scratch / "table"),
            checkpointLocation=str(scratch / f"checkpoint-{number}"),
            partition_by=PARTITION_BY,
        )
        running = query.trigger(processingTime="1 second").start()
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            wait_until(lambda: running.lastProgress is not None, STARTS_S, "a batch")
            (scratch / f"{number}.joined").touch()
            running.awaitTermination()
        except KeyboardInterrupt:
            running.stop()


if __name__ == "__main__":
    main()
