"""Times the commits of `delta.ingest` in a new table and in one that has grown.

    python -m tests.bench.ingest_commits [--commits N] [--timed N]

Each commit adds a file for each of ten Kafka partitions and moves their watermarks. The tasks'
files are real and small, and are written before the clock starts. No Spark: a pause before each
commit that is timed stands for the time in which it plans and reads a batch.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from statistics import quantiles

from deltalake import DeltaTable

from pyspark_zkgroup.delta.direct.committing import Commits
from tests.unit.delta.ingest_scene import no_brokers, prepared, written

PARTITIONS, ROWS = 10, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--commits", type=int, default=1000, help="before the table counts as old")
    parser.add_argument("--timed", type=int, default=100)
    parser.add_argument("--pause-ms", type=float, default=100)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="zkgroup-commits-") as directory:
        into = prepared(Path(directory))
        commits = Commits(into)
        took_ms: list[float] = []
        for number in range(given.commits + given.timed):
            first = number * ROWS
            batch = written(into, dict.fromkeys(range(PARTITIONS), range(first, first + ROWS)))
            if number < given.timed or number >= given.commits:
                threading.Event().wait(given.pause_ms / 1000)
            began = time.perf_counter()
            commits.commit(*batch, no_brokers)
            took_ms.append((time.perf_counter() - began) * 1000)
            if number + 1 in (given.timed, given.commits + given.timed):
                table = DeltaTable(into.directory)
                files = len(table.file_uris())
                show(f"{table.version()} commits, {files} files", took_ms[-given.timed :])


def show(what: str, took_ms: list[float]) -> None:
    parts = quantiles(took_ms, n=20)
    print(
        f"{what}; the last {len(took_ms)} commits: p50 {parts[9]:.1f} ms, p95 {parts[18]:.1f} ms, "
        f"longest {max(took_ms):.1f} ms",
        flush=True,
    )


if __name__ == "__main__":
    main()
