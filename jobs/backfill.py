"""Appends a range of a topic's history to a Delta table, in steps, without joining a group.

    python jobs/backfill.py --zookeeper zk1:2181/kafka --subscribe orders \
        --starting-timestamp 2026-03-01T00:00:00+00:00 \
        --ending-timestamp 2026-04-01T00:00:00+00:00 \
        --table /data/billing --checkpoint /data/billing.march

    spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)" jobs/backfill.py ...

It reads as a batch, joins no group and commits nothing. Members that read the same topic are not
affected, and may write the same table at the same time. Records that are already in the table are
not appended again.

The first run looks up the start and end of the ranges and notes them in the checkpoint, as each run
notes every finished step. After an interruption, run it again with the same arguments: it continues
with the first step that is not noted. SIGTERM and Ctrl-C (to the Python process, if it was
submitted) end the job after the current step.

Exit status: 0 when all records are in the table; 1 when it failed or was interrupted (run it
again); 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Sequence

from pyspark.sql import SparkSession

from pyspark_zkgroup.delta import append_once, session
from pyspark_zkgroup.jobs import ranges
from pyspark_zkgroup.jobs.arguments import (
    add_ranges,
    add_servers,
    add_table,
    add_topics,
    checked,
    job_parser,
    reader_options,
)
from pyspark_zkgroup.jobs.batches import counted
from pyspark_zkgroup.jobs.done_steps import DoneSteps
from pyspark_zkgroup.jobs.outcome import Job
from pyspark_zkgroup.noted_signals import noted_signals

MAX_OFFSETS = 1_000_000
JOB = Job("backfill")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    spark = session("zkgroup backfill", JOB.say)
    spark.sparkContext.setLogLevel("WARN")
    told: list[int] = []
    # After Spark was started, which has its own handler for Ctrl-C.
    with noted_signals(told.append):
        backfill = Backfill(spark, arguments)
        left = [n for n in range(backfill.steps) if n not in backfill.done]
        if backfill.done and left:
            JOB.say(f"continuing: {len(backfill.done)} of {backfill.steps} steps are done")
        finished = backfill.run(left, told)
        spark.stop()
    how = "all steps are done" if finished else f"{len(left) - backfill.taken} left: run it again"
    JOB.say(
        f"read {backfill.rows} rows in {counted(backfill.taken, 'step', 'steps')} in "
        f"{time.monotonic() - began:.1f} s into {arguments.table}; {how}"
    )
    return 0 if finished else 1


class Backfill:
    """Ranges, in steps, of which some may be done already."""

    def __init__(self, spark: SparkSession, arguments: argparse.Namespace) -> None:
        self.spark, self.table = spark, arguments.table
        self.options = reader_options(arguments, "batch")
        self.rows = self.taken = 0
        self.noted = DoneSteps(spark, arguments.checkpoint)
        asked = {**_asked(arguments), "table": self.noted.qualified(self.table)}
        begun = self.noted.begun(asked)
        if begun is None:
            found, _ = ranges.looked_up(self.options)
            begun = found, ranges.steps_for(found, arguments.max_offsets)
            self.noted.begin(asked, *begun)
        self.ranges, self.steps = begun
        self.done = self.noted.done(self.steps)
        JOB.say(
            f"{ranges.size(self.ranges)} offsets of {len(self.ranges)} partitions "
            f"in {counted(self.steps, 'step', 'steps')}"
        )

    def run(self, left: Iterable[int], told: Sequence[int]) -> bool:
        for number in left:
            if told:
                return False
            began = time.monotonic()
            rows = self._append(number)
            self.noted.note(number)
            self.rows += rows
            self.taken += 1
            JOB.say(
                f"step {number + 1} of {self.steps}: {rows} rows in "
                f"{time.monotonic() - began:.1f} s"
            )
        return True

    def _append(self, number: int) -> int:
        part = ranges.step(self.ranges, number, self.steps)
        if not part:
            return 0
        options = {**ranges.without_ranges(self.options), **ranges.reading(part)}
        return append_once(self.spark.read.format("zkgroup").options(**options).load(), self.table)


def _asked(arguments: argparse.Namespace) -> dict[str, str]:
    """What must not change from one run to the next. Not --option: passwords may be in it."""
    given = ("subscribe", "subscribe_pattern")
    names = (*given, *(n for n in vars(arguments) if n.startswith(("starting_", "ending_"))))
    values = {name: getattr(arguments, name) for name in names}
    return {name: str(value) for name, value in values.items() if value is not None}


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = job_parser(
        "backfill.py", __doc__, "Run it again with the same arguments to continue where it ended."
    )
    add_servers(parser)
    add_topics(parser)
    add_ranges(parser)
    add_table(parser)
    parser.set_defaults(max_offsets=MAX_OFFSETS)
    return checked(parser, given, "batch")


if __name__ == "__main__":
    sys.exit(main())
