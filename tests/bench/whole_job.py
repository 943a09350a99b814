"""Compares whole jobs that append a topic to a new Delta table, from their process's start to end.

    python -m tests.bench.whole_job [--rows N ...] [--repeats N]

`delta.ingest` and Spark's Kafka source with a plain append, in turns; each run has a new process, a
new session and a new table.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from deltalake import DeltaTable

from tests.bench.cases import DELTA, BenchError, Case, Size
from tests.bench.delta_sink import into_delta
from tests.bench.session import ROOT, JavaCodecs, fresh, spark_session
from tests.bench.sources import SIDES, Servers, Side
from tests.bench.topics import Topic, filled_topic
from zkgroup_sandbox import Sandbox

CODEC = "lz4"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        side, zookeeper_connect, bootstrap_servers, topic, directory = given.run
        alone(side, Servers(zookeeper_connect, bootstrap_servers), topic, Path(directory))
        return
    with (
        tempfile.TemporaryDirectory(prefix="zkgroup-whole-", ignore_cleanup_errors=True) as made,
        Sandbox(Path(made) / "servers", "3.9", say=print) as sandbox,
    ):
        for rows in given.rows:
            size = Size(100, "100B", rows)
            # This session only compresses the records, and is idle while the jobs run.
            with (
                spark_session(Path(made), print) as spark,
                filled_topic(sandbox, size, CODEC, JavaCodecs(spark)) as topic,
            ):
                compare(sandbox, topic, Path(made), given.repeats)


def compare(sandbox: Sandbox, topic: Topic, scratch: Path, repeats: int) -> None:
    took: dict[Side, list[float]] = {"ours": [], "peer": []}
    for number in range(repeats):
        for side in SIDES if number % 2 else tuple(reversed(SIDES)):
            with fresh(scratch / "run") as directory:
                took[side].append(run(side, Servers.of(sandbox), topic.name, directory))
                rows = DeltaTable(str(directory / "rows")).count()
            if rows != topic.rows:
                raise BenchError(f"{side}: {rows} rows in the table, not {topic.rows}")
    each = {side: " ".join(f"{one:.1f}" for one in found) for side, found in took.items()}
    print(
        f"{topic.rows} rows, s: delta.ingest {each['ours']}, Spark's source {each['peer']}; "
        f"Spark's / ours: {median(took['peer']) / median(took['ours']):.2f}",
        flush=True,
    )


def run(side: Side, servers: Servers, topic: str, directory: Path) -> float:
    addresses = [servers.zookeeper_connect, servers.bootstrap_servers]
    given = ["--run", side, *addresses, topic, str(directory)]
    began = time.monotonic()
    subprocess.run([sys.executable, "-m", "tests.bench.whole_job", *given], check=True, cwd=ROOT)
    return time.monotonic() - began


def alone(side: Side, servers: Servers, topic: str, directory: Path) -> None:
    """One run in a new process."""
    case = Case(Size(100, "100B", 0), CODEC, DELTA)
    with spark_session(directory, print, delta=True) as spark:
        writer = into_delta(spark, case, side, servers, topic, directory)
        writer.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main()
