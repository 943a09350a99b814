"""Writes a consumer group's records into a Delta table, each of them once, until it is stopped.

    python jobs/stream_to_delta.py --zookeeper zk1:2181/kafka --group billing --subscribe orders \
        --table /data/billing --checkpoint /data/billing.checkpoint

    spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)" \
        jobs/stream_to_delta.py ...

Start it on several machines, each with its own checkpoint: they share the partitions. When one
fails the others take over, and the table accepts no record twice. With --available-now it ends
where the logs ended when it began. On SIGTERM and Ctrl-C it finishes the current batch and commits
it. If you submitted the job, send the signal to its Python process.

Tasks write the table's files, and rows do not pass through the JVM. Where the table does not allow
that, the job says why, and Spark writes them, as it does with --through-spark: see
docs/delta-ingest.md.

Exit status: 0 when it has read everything or was stopped by a signal; 1 when it failed; 2 for wrong
usage.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from pyspark_zkgroup import delta, stop_on_sigterm
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

FOLLOW_S = 1.0
JOB = Job("stream_to_delta")


def main(given: Sequence[str] | None = None) -> int:
    arguments = _arguments(given)
    return JOB.status(lambda: _run(arguments))


def _run(arguments: argparse.Namespace) -> int:
    began = time.monotonic()
    spark = delta.session(f"zkgroup stream_to_delta {arguments.group}", JOB.say)
    spark.sparkContext.setLogLevel("WARN")
    batches = Batches(JOB.say, bar_on(sys.stdout))
    spark.streams.addListener(batches)
    options = reader_options(arguments, "stream")
    # What Spark before 4.2 does not tell the reader.
    options = {"endsByItself": str(arguments.available_now).lower(), **options}
    writer = stream_into(spark, options, arguments, JOB.say)
    if arguments.available_now:
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
    parser = job_parser(
        "stream_to_delta.py", __doc__, "SIGTERM ends it when its batch is committed."
    )
    add_servers(parser)
    add_member(parser)
    add_topics(parser)
    add_table(parser)
    add_write_path(parser)
    how = parser.add_mutually_exclusive_group()
    add_follow(how, FOLLOW_S, "look for new records every SECONDS (1), until SIGTERM")
    how.add_argument(
        "--available-now",
        action="store_true",
        help="read what the topics contain at the start, then exit",
    )
    return checked(parser, given, "stream")


if __name__ == "__main__":
    sys.exit(main())
