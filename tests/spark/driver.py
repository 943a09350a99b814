"""A Spark driver in a separate process, with one query at a time: one member of a group.

python -m tests.spark.driver EVENTS_FILE

It runs the jobs that come as lines on its input, one after the other: a job ends at SIGTERM by
draining, at the line `stop` by a bare query.stop(), or by itself. At the line `progress` it reports
its query's place in the group; from the line `metrics` on, it serves metrics and writes them to a
file next to EVENTS_FILE. Events are added to EVENTS_FILE as JSON lines. The end of the input ends
the process.
"""

from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import JStreamingQueryListener, StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from pyspark_zkgroup import progress, progress_frame
from pyspark_zkgroup.spark.listener import ProgressListener
from pyspark_zkgroup.spark.running import stop_on_sigterm
from tests.harness.waiting import wait_until
from tests.spark.job import AVAILABLE_NOW, ONCE, Job
from tests.spark.sink import deliver, write_whole

HOLD_S_MAX = 600.0
# A task may fail three times before its batch does.
MASTER = "local[2,4]"
CONF = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.python.unix.domain.socket.enabled": "true",
}
COLUMNS = ("topic", "partition", "offset")


class Events:
    """Appended by several threads, read by the tests while it grows."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._lock = threading.Lock()

    def add(self, kind: str, **facts: Any) -> None:
        with self._lock:
            self._file.write(json.dumps({"event": kind, "at": time.time(), **facts}) + "\n")


class Listener(StreamingQueryListener):
    def __init__(self, events: Events) -> None:
        self.events = events

    def onQueryStarted(self, event: Any) -> None:
        self.events.add("started", query=str(event.id), run=str(event.runId))

    def onQueryProgress(self, event: Any) -> None:
        raise AssertionError("PlainProgress takes these events")

    def onQueryIdle(self, event: Any) -> None:
        self.events.add("idle")

    def onQueryTerminated(self, event: Any) -> None:
        self.events.add("terminated", run=str(event.runId), error=event.exception)


class PlainProgress(JStreamingQueryListener):
    """PySpark makes some hundred calls into the JVM for each progress. On a loaded machine they
    take longer than a batch, so that what the tests hear of falls ever further behind.
    """

    def __init__(self, listener: Listener) -> None:
        super().__init__(listener)
        self.events = listener.events

    def onQueryProgress(self, jevent: Any) -> None:
        self.events.add("progress", progress=json.loads(jevent.progress().json()))


def listen_to(spark: SparkSession, events: Events) -> None:
    listener = Listener(events)
    assert spark.sparkContext._jvm is not None
    package = spark.sparkContext._jvm.org.apache.spark.sql.streaming
    listener._jlistenerobj = package.PythonStreamingQueryListenerWrapper(PlainProgress(listener))
    spark.streams.addListener(listener)


def holds(holder: Path, number: int) -> bool:
    try:
        return int(holder.read_text() or 0) <= number
    except FileNotFoundError:
        return False


def hold(job: Job, holder: Path, number: int) -> None:
    if holds(holder, number):
        (job.held / str(number)).touch()
        wait_until(
            lambda: not holds(holder, number), HOLD_S_MAX, f"{holder} to go", interval_s=0.02
        )


def reading(
    job: Job, number: int
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What each task does with its rows on the way."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        hold(job, job.hold_tasks, number)
        if not job.fail_first:
            yield from batches
            return
        context = TaskContext.get()
        assert context is not None
        rows = []
        for batch in batches:
            rows += [list(row) for row in zip(*(c.to_pylist() for c in batch.columns), strict=True)]
            yield batch
        attempt = {
            "stage": context.stageId(),
            "task": context.partitionId(),
            "attempt": context.attemptNumber(),
            "rows": rows,
        }
        write_whole(job.attempts / f"{uuid.uuid4().hex}.json", json.dumps(attempt))
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt of each task fails, as the job asks")

    return read


def start(spark: SparkSession, job: Job, events: Events) -> StreamingQuery:
    def take(batch: DataFrame, number: int) -> None:
        began = time.time()
        events.add("batch", batch=number)
        rows = batch.select(*COLUMNS)
        if job.stepped:
            schema: StructType = rows.schema
            rows = rows.mapInArrow(reading(job, number), schema)
        columns = [column.to_pylist() for column in rows.toArrow().columns]
        deliver(job.sink, number, began, time.time(), zip(*columns, strict=True))
        events.add("delivered", batch=number)
        hold(job, job.hold_taken, number)

    job.prepare()
    writer = (
        spark.readStream.format("zkgroup")
        .options(**job.options)
        .load()
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(job.checkpoint))
    )
    if job.trigger == AVAILABLE_NOW:
        writer = writer.trigger(availableNow=True)
    elif job.trigger == ONCE:
        writer = writer.trigger(once=True)
    else:
        writer = writer.trigger(processingTime=f"{job.trigger} seconds")
    return writer.start()


def warm_up(spark: SparkSession) -> None:
    """The first job of a JVM takes seconds. It belongs to the start, not to a batch."""
    schema: StructType = spark.range(1).schema
    spark.range(4, numPartitions=2).mapInArrow(lambda batches: batches, schema).toArrow()


class Driver:
    def __init__(self, spark: SparkSession, events: Events) -> None:
        self.spark, self.events = spark, events
        self.jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.query: StreamingQuery | None = None
        self.metrics: ProgressListener | None = None

    def listen(self) -> None:
        """In a separate thread: the main one waits for the query, and for SIGTERM."""
        for line in sys.stdin:
            word = line.strip()
            if word == "metrics":
                file = Path(sys.argv[1]).with_suffix(".prom")
                self.metrics = ProgressListener(file=file, port=0)
                self.spark.streams.addListener(self.metrics)
                self.events.add("metrics", port=self.metrics.port)
            elif word not in ("stop", "progress"):
                self.jobs.put(Job.from_json(word))
            elif self.query is not None and word == "progress":
                rows = [row.asDict() for row in progress_frame(self.query, self.spark).collect()]
                self.events.add("asked", progress=progress(self.query), rows=rows)
            elif self.query is not None:
                self.query.stop()
                self.events.add("stopped")
        # The test run is over, however it ended: a query that still runs ends with its process.
        if self.query is not None:
            os._exit(1)
        self.jobs.put(None)

    def run(self) -> None:
        while (job := self.jobs.get()) is not None:
            error = ""
            try:
                self.query = start(self.spark, job, self.events)
                stop_on_sigterm(self.query)
            except Exception as problem:  # noqa: BLE001 - reported to the test, which judges it
                error = str(problem)
            self.events.add("ended", error=error)
            self.query = None


def main() -> None:
    events = Events(Path(sys.argv[1]))
    builder = SparkSession.builder.master(MASTER).appName("zkgroup-test")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("WARN")
    listen_to(spark, events)
    context = spark.sparkContext
    assert context._jvm is not None
    jvm = int(context._jvm.java.lang.ProcessHandle.current().pid())
    warm_up(spark)
    driver = Driver(spark, events)
    threading.Thread(target=driver.listen, daemon=True).start()
    events.add("ready", jvm=jvm, python=os.getpid())
    driver.run()
    if driver.metrics is not None:
        driver.metrics.close()
    spark.stop()


if __name__ == "__main__":
    main()
