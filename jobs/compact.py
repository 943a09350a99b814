"""Merges the small files of a Delta table on a local disk while members append to it.

    python jobs/compact.py --table /data/billing --vacuum-hours 168

Each batch of a member adds a file for each Kafka partition. This job merges the files of those
partitions of the table that have many small ones, one partition at a time, under the lock that the
members hold while they commit. It changes no row. Run it nightly, or with --every as a service.

With --vacuum-hours it then removes files that are no longer in the table, or were never added to
it, as those of killed tasks. The hours must be more than the longest batch takes, and no less than
the table's own retention.

Exit status: 0 when it is done or was stopped by a signal; 1 when it failed; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from pyspark_zkgroup.delta.compacting import Compaction
from pyspark_zkgroup.jobs.arguments import count, job_parser, parsed, seconds
from pyspark_zkgroup.jobs.batches import counted
from pyspark_zkgroup.jobs.outcome import Job
from pyspark_zkgroup.noted_signals import noted_signals

TARGET_MB, FILES_MIN, LONGEST_BATCH_HOURS = 256, 8, 24
JOB = Job("compact")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    stopped = threading.Event()
    with noted_signals(lambda _signum: stopped.set()):
        compaction = Compaction(Path(arguments.table))
        while True:
            _round(compaction, arguments, stopped)
            if arguments.every is None or stopped.wait(arguments.every):
                return 0


def _round(compaction: Compaction, arguments: argparse.Namespace, stopped: threading.Event) -> None:
    began = time.monotonic()
    target_bytes = arguments.target_mb * 2**20
    before = after = 0
    for one in compaction.partitions(target_bytes, arguments.files_min):
        if stopped.is_set():
            break
        merged, made = compaction.compact(one, target_bytes)
        before, after = before + merged, after + made
    JOB.say(
        f"merged {counted(before, 'file', 'files')} into {after} in "
        f"{time.monotonic() - began:.1f} s in {arguments.table}"
    )
    if arguments.vacuum_hours is not None and not stopped.is_set():
        removed = compaction.vacuum(arguments.vacuum_hours)
        JOB.say(f"removed {counted(removed, 'file', 'files')} from {arguments.table}")


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = job_parser("compact.py", __doc__, "SIGTERM ends it after the current partition.")
    add = parser.add_argument
    add("--table", required=True, metavar="PATH", help="the Delta table")
    add("--target-mb", type=count, default=TARGET_MB, metavar="N", help="size of files (256)")
    add(
        "--files-min",
        type=count,
        default=FILES_MIN,
        metavar="N",
        help="merge where a partition of the table has so many smaller files (8)",
    )
    add("--every", type=seconds, metavar="SECONDS", help="do not end: look again every SECONDS")
    add("--vacuum-hours", type=count, metavar="N", help="remove files unused for so many hours")
    add(
        "--longest-batch-hours",
        type=count,
        default=LONGEST_BATCH_HOURS,
        metavar="N",
        help="the longest time that a batch of any member takes (24)",
    )
    arguments = parsed(parser, given)
    hours, longest = arguments.vacuum_hours, arguments.longest_batch_hours
    if hours is not None and hours <= longest:
        parser.error(
            f"--vacuum-hours {hours} could remove files of a batch under way: give more than "
            f"--longest-batch-hours {longest}"
        )
    return arguments


if __name__ == "__main__":
    sys.exit(main())
