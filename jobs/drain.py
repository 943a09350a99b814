"""Appends to a Delta table what a consumer group has not read yet, and ends.

    python jobs/drain.py --zookeeper zk1:2181/kafka --group billing --subscribe orders,payments \
        --table /data/billing --checkpoint /data/billing.checkpoint

    spark-submit --jars "$(python -m pyspark_zkgroup.sandbox.delta_jars)" jobs/drain.py ...

Several of them may run at a time, each with a checkpoint of its own: they share the partitions, and
the table holds each record once whatever dies. With --follow it reads on until it is told to end.
SIGTERM and Ctrl-C let the running batch end and commit it. A job that was submitted by spark-submit
is best told so by its Python process: a signal to the JVM ends Spark in mid-batch, and that batch
is read again by whoever comes next.

Exit status: 0 when it has come to its end or was told to end; 1 when it failed; 2 for wrong usage.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    StreamingQueryListener,
)
from pyspark.sql.streaming.query import StreamingQuery

from pyspark_zkgroup.delta import append_once, session
from pyspark_zkgroup.errors import ZkgroupError
from pyspark_zkgroup.member_progress import shown_offset
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.stopping import stop_on_sigterm


def main() -> int:
    arguments = _arguments(sys.argv[1:])
    began = time.monotonic()
    try:
        spark = session(f"zkgroup drain {arguments.group}", _say)
        spark.sparkContext.setLogLevel("WARN")
        spark.streams.addListener(Batches())
        job = Drain(arguments)
        drained = stop_on_sigterm(job.start(spark))
    except (PySparkException, ZkgroupError) as error:
        _say(f"failed: {_reason(error)}")
        return 1
    report = job.report(time.monotonic() - began)
    spark.stop()
    _say(report)
    if not drained:
        _say("it was stopped before its last batch was committed: that batch will be read again")
    return 0 if drained else 1


class Drain:
    """The query, and what it has read."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.rows = self.batches = 0
        self.query: StreamingQuery | None = None

    def start(self, spark: SparkSession) -> StreamingQuery:
        frame = spark.readStream.format("zkgroup").options(**reader_options(self.arguments)).load()
        writer = frame.writeStream.foreachBatch(self._append)
        writer = writer.option("checkpointLocation", self.arguments.checkpoint)
        if self.arguments.follow is None:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{self.arguments.follow} seconds")
        self.query = writer.start()
        return self.query

    def _append(self, batch: DataFrame, _number: int) -> None:
        self.rows += append_once(batch, self.arguments.table)
        self.batches += 1

    def report(self, seconds: float) -> str:
        progress = self.query.lastProgress if self.query is not None else None
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        return (
            f"read {self.rows} rows in {batches} in {seconds:.1f} s"
            f" into {self.arguments.table}; {_standing(progress)}"
        )


class Batches(StreamingQueryListener):
    """Says of each batch what Spark reports of it."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        _say(
            f"batch {progress.batchId}: {progress.batchDuration / 1000:.1f} s; "
            f"{_standing(progress)}"
        )

    def onQueryStarted(self, event: Any) -> None:
        return

    def onQueryIdle(self, event: Any) -> None:
        return

    def onQueryTerminated(self, event: Any) -> None:
        return


def reader_options(arguments: argparse.Namespace) -> dict[str, str]:
    given = {
        "zookeeper.connect": arguments.zookeeper,
        "group.id": arguments.group,
        "subscribe": arguments.subscribe,
        "subscribePattern": arguments.subscribe_pattern,
        "threads": arguments.threads,
        "startingOffsets": arguments.starting_offsets,
        "maxOffsetsPerTrigger": arguments.max_offsets,
        "kafka.bootstrap.servers": arguments.bootstrap_servers,
        # So that the reader can see in Spark's commit log that its last batch is done.
        "checkpointLocation": arguments.checkpoint,
        **dict(arguments.option),
    }
    return {name: str(value) for name, value in given.items() if value is not None}


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="drain.py",
        description="Appends to a Delta table what a consumer group has not read yet, and ends.",
    )
    add = parser.add_argument
    add("--zookeeper", required=True, metavar="HOSTS[/CHROOT]", help="where the group lives")
    add("--group", required=True, help="the consumer group to be a member of")
    topics = parser.add_mutually_exclusive_group(required=True)
    topics.add_argument("--subscribe", metavar="TOPICS", help="topics, separated by commas")
    topics.add_argument("--subscribe-pattern", metavar="REGEX", help="topics that match")
    add("--table", required=True, metavar="PATH", help="the Delta table; made if it is missing")
    add("--checkpoint", required=True, metavar="PATH", help="one for each job that runs at a time")
    add("--threads", metavar="N", help="the most Spark tasks that read at a time (4)")
    add(
        "--starting-offsets",
        default="earliest",
        help="where the group has none yet: earliest (default), latest, or JSON",
    )
    add("--max-offsets", metavar="N", help="the most records of one batch")
    add("--bootstrap-servers", metavar="HOSTS", help="brokers, if ZooKeeper does not know them")
    add(
        "--option",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        help="any other option of the reader; may be given several times",
    )
    add(
        "--follow",
        type=_seconds,
        metavar="SECONDS",
        help="do not end: look for more every SECONDS, until SIGTERM",
    )
    arguments = parser.parse_args(given)
    try:
        parse(reader_options(arguments))
    except ZkgroupError as error:
        parser.error(str(error))
    return arguments


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 3600:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to 3600")
    return seconds


def _standing(progress: Any) -> str:
    """What the member held and had still before it at its last boundary, as far as Spark tells."""
    for source in json.loads(progress.json)["sources"] if progress is not None else []:
        latest = shown_offset(source.get("latestOffset"))
        if "lag" in latest:
            waiting = latest["waitingCount"]
            return f"lag {latest['lag']} on {latest['held']} partitions of {latest['member']}" + (
                f", waiting for {waiting} partitions" if waiting else ""
            )
    return "lag not known"


def _reason(error: Exception) -> str:
    """Our own error where there is one, without the stacks around it, which Spark has logged."""
    lines = str(error).split("\n\nJVM stacktrace:")[0].splitlines()
    for line in lines:
        if "[ZKG-" in line:
            return line[line.index("[ZKG-") :].strip()
    told = [line.strip() for line in lines if line.strip() and not line.startswith("\tat ")]
    return " ".join(told[:6]) or type(error).__name__


def _say(text: str) -> None:
    print(f"drain: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
