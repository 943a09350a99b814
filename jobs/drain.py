"""Appends to a Delta table what a consumer group has not read yet, then exits.

    python jobs/drain.py --zookeeper zk1:2181/kafka --group billing --subscribe orders,payments \
        --table /data/billing --checkpoint /data/billing.checkpoint

    spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)" jobs/drain.py ...

Several of them may run at the same time, each with its own checkpoint: they share the partitions,
and the table contains each record once, whichever of them fails. With --follow the job keeps
reading until it receives a signal. On SIGTERM and Ctrl-C it finishes the current batch and commits
it. If you submitted the job with spark-submit, send the signal to its Python process: a signal to
the JVM ends Spark in the middle of a batch, and another member reads that batch again.

Exit status: 0 when it has read everything or was stopped by a signal; 1 when it failed; 2 for wrong
usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_zkgroup import stop_on_sigterm
from pyspark_zkgroup.delta import append_once, session
from pyspark_zkgroup.jobs.arguments import (
    add_follow,
    add_member,
    add_servers,
    add_table,
    add_topics,
    checked,
    job_parser,
    reader_options,
)
from pyspark_zkgroup.jobs.batches import Batches, counted
from pyspark_zkgroup.jobs.outcome import Job

JOB = Job("drain")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    spark = session(f"zkgroup drain {arguments.group}", JOB.say)
    spark.sparkContext.setLogLevel("WARN")
    batches = Batches(JOB.say)
    spark.streams.addListener(batches)
    drain = Drain(arguments)
    drained = stop_on_sigterm(drain.start(spark))
    batches.wait_until_told()
    spark.stop()
    JOB.say(drain.report(time.monotonic() - began, batches.standing))
    if not drained:
        JOB.say("it was stopped before its last batch was committed: it will be read again")
    return 0 if drained else 1


class Drain:
    """The query, and what it has read."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.rows = self.batches = 0

    def start(self, spark: SparkSession) -> StreamingQuery:
        options = reader_options(self.arguments, "stream")
        # What Spark before 4.2 does not tell the reader.
        options = {"endsByItself": str(self.arguments.follow is None).lower(), **options}
        frame = spark.readStream.format("zkgroup").options(**options).load()
        writer = frame.writeStream.foreachBatch(self._append)
        writer = writer.option("checkpointLocation", self.arguments.checkpoint)
        if self.arguments.follow is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self.arguments.follow} seconds")
        return writer.start()

    def _append(self, batch: DataFrame, _number: int) -> None:
        self.rows += append_once(batch, self.arguments.table)
        self.batches += 1

    def report(self, seconds: float, standing: str) -> str:
        return (
            f"read {self.rows} rows in {counted(self.batches, 'batch', 'batches')} in "
            f"{seconds:.1f} s into {self.arguments.table}; {standing}"
        )


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = job_parser("drain.py", __doc__, "SIGTERM ends it when its batch is committed.")
    add_servers(parser)
    add_member(parser)
    add_topics(parser)
    add_table(parser)
    add_follow(parser, None, "do not exit: look for new records every SECONDS, until SIGTERM")
    return checked(parser, given, "stream")


if __name__ == "__main__":
    sys.exit(main())
