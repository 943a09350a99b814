"""Appends to a Delta table what a consumer group has not read yet, then exits.

    python jobs/drain.py --zookeeper zk1:2181/kafka --group billing --subscribe orders,payments \
        --table /data/billing --checkpoint /data/billing.checkpoint

    spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)" jobs/drain.py ...

Several of them may run at the same time, each with its own checkpoint: they share the partitions,
and the table contains each record once, whichever of them fails. With --follow the job keeps
reading until it receives a signal. On SIGTERM and Ctrl-C it finishes the current batch and commits
it. If you submitted the job with spark-submit, send the signal to its Python process: a signal to
the JVM ends Spark in the middle of a batch, and another member reads that batch again.

Tasks write the table's files, and rows do not pass through the JVM. Where the table does not allow
that, the job says why, and Spark writes them, as it does with --through-spark.

On a terminal a bar shows what was read, the rate, the lag and the time left; elsewhere there is a
line for each batch. Give --max-offsets for smaller steps.

Exit status: 0 when it has read everything or was stopped by a signal; 1 when it failed; 2 for wrong
usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from pyspark_zkgroup import stop_on_sigterm
from pyspark_zkgroup.delta import session
from pyspark_zkgroup.jobs.appending import add_write_path, stream_into
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
from pyspark_zkgroup.jobs.progress import bar_on

JOB = Job("drain")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    spark = session(f"zkgroup drain {arguments.group}", JOB.say)
    spark.sparkContext.setLogLevel("WARN")
    batches = Batches(JOB.say, bar_on(sys.stdout))
    spark.streams.addListener(batches)
    options = reader_options(arguments, "stream")
    # What Spark before 4.2 does not tell the reader.
    options = {"endsByItself": str(arguments.follow is None).lower(), **options}
    writer = stream_into(spark, options, arguments, JOB.say)
    if arguments.follow is None:
        writer = writer.trigger(availableNow=True)
    else:
        writer = writer.trigger(processingTime=f"{arguments.follow} seconds")
    drained = stop_on_sigterm(writer.start())
    batches.wait_until_told()
    spark.stop()
    JOB.say(
        f"read {batches.offsets} offsets in {counted(batches.count, 'batch', 'batches')} in "
        f"{time.monotonic() - began:.1f} s into {arguments.table}; {batches.standing}"
    )
    if not drained:
        JOB.say("it was stopped before its last batch was committed: it will be read again")
    return 0 if drained else 1


def _arguments(given: Sequence[str] | None) -> argparse.Namespace:
    assert __doc__ is not None
    parser = job_parser("drain.py", __doc__, "SIGTERM ends it when its batch is committed.")
    add_servers(parser)
    add_member(parser)
    add_topics(parser)
    add_table(parser)
    add_write_path(parser)
    add_follow(parser, None, "do not exit: look for new records every SECONDS, until SIGTERM")
    return checked(parser, given, "stream")


if __name__ == "__main__":
    sys.exit(main())
