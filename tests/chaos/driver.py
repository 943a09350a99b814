"""A Spark driver with one query that appends to Delta: python -m tests.chaos.driver JOB

A query that has failed is reported and started again, as a supervisor would. SIGUSR1 ends the
driver by pyspark_zkgroup.stop(); SIGTERM has no handler here, so that it ends each process of the
driver wherever it is. The end of the input, when its starter has ended, ends it at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.listener import StreamingQueryListener
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pyspark_zkgroup.delta import append_once, appender, session
from pyspark_zkgroup.spark.stopping import stop
from tests.chaos import direct
from tests.chaos.job import Job
from tests.harness.starter import end_with_starter
from tests.spark.driver import COLUMNS, Events
from tests.spark.sink import deliver

RESTART_AFTER_S = 0.5
ERROR_CHARACTERS_MAX = 4_000


class Listener(StreamingQueryListener):
    """Keeps of Spark's progress what the run's judges need."""

    def __init__(self, events: Events) -> None:
        self.events = events

    def onQueryStarted(self, event: Any) -> None:
        return

    def onQueryProgress(self, event: Any) -> None:
        progress = event.progress
        self.events.add(
            "progress",
            batch=progress.batchId,
            timestamp=progress.timestamp,
            ms=progress.durationMs.get("triggerExecution", 0),
            boundary_ms=progress.durationMs.get("latestOffset", 0),
            rows=progress.numInputRows,
            latest=progress.sources[0].latestOffset,
        )

    def onQueryIdle(self, event: Any) -> None:
        return

    def onQueryTerminated(self, event: Any) -> None:
        return


class Member:
    def __init__(self, spark: SparkSession, job: Job, events: Events) -> None:
        self.spark, self.job, self.events = spark, job, events
        self.asked = threading.Event()
        self._append: Callable[[DataFrame, int], None] | None = None
        if not job.direct:
            self._append = appender(str(job.table), checkpointLocation=str(job.checkpoint))

    def run(self) -> None:
        while True:
            query = self._start()
            try:
                if self._follow(query):
                    return
            except PySparkException as error:
                # Followed until it has failed; a driver whose query is gone starts it again.
                self.events.add("died", error=str(error)[:ERROR_CHARACTERS_MAX])
                if self.asked.wait(RESTART_AFTER_S):
                    return

    def _follow(self, query: StreamingQuery) -> bool:
        while not self.asked.is_set():
            if query.awaitTermination(1):
                self.events.add("died", error="the query ended without an error")
                return False
        self.events.add("stopping")
        self.events.add("stopped", drained=stop(query))
        return True

    def _start(self) -> StreamingQuery:
        writer = direct.writer(self.spark, self.job) if self.job.direct else self._writer()
        # What Spark has not logged as finished is the first batch of this run.
        replays = self.job.unlogged()[-1:]
        query = writer.trigger(processingTime=f"{self.job.trigger_s} seconds").start()
        self.events.add("started", run=str(query.runId), replays=replays)
        return query

    def _writer(self) -> DataStreamWriter:
        frame = self.spark.readStream.format("zkgroup").options(**self.job.options).load()
        writer = frame.writeStream.foreachBatch(self._take)
        return writer.option("checkpointLocation", str(self.job.checkpoint))

    def _take(self, batch: DataFrame, number: int) -> None:
        began = time.time()
        # Of a batch in which the query ends, Spark reports no progress: this stays of it.
        self.events.add("taken", batch=number, planned=self.job.planned_at(number))
        # Read once, for the plain log and for the table.
        batch = batch.persist()
        try:
            columns = [c.to_pylist() for c in batch.select(*COLUMNS).toArrow().columns]
            deliver(self.job.sink, number, began, time.time(), zip(*columns, strict=True))
            assert self._append is not None
            self._append(batch, number)
        finally:
            batch.unpersist()
        self.events.add("appended", batch=number)


def warm_up(spark: SparkSession, job: Job) -> None:
    """The first jobs and the first Delta commit of a JVM take seconds. They belong to the start,
    not to a batch.
    """
    rows = spark.range(3).selectExpr("'t' AS topic", "0 AS partition", "id AS offset")
    rows.toArrow()
    if not job.direct:
        append_once(rows, str(job.scratch / f"warm-{os.getpid()}"))


def main() -> None:
    job = Job.from_json(sys.argv[1])
    events = Events(job.events)
    asked = threading.Event()
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    end_with_starter()
    name = f"zkgroup chaos {job.name}"
    spark = direct.session(name) if job.direct else session(name, print)
    if job.direct:
        direct.report_commits(job, events)
    spark.sparkContext.setLogLevel("WARN")
    context = spark.sparkContext
    assert context._jvm is not None
    jvm = int(context._jvm.java.lang.ProcessHandle.current().pid())
    warm_up(spark, job)
    spark.streams.addListener(Listener(events))
    events.add("ready", jvm=jvm, python=os.getpid())
    member = Member(spark, job, events)
    member.asked = asked
    member.run()
    spark.stop()
    events.add("ended")


if __name__ == "__main__":
    main()
