"""Members that write with `delta.ingest`, whose rows no driver sees: what a batch has read is taken
from the files that its tasks have written, before the commit decides about them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from pyspark_zkgroup.delta import ingest
from pyspark_zkgroup.delta.direct.committing import Commits, Committer
from tests.chaos.job import Job
from tests.harness.oracle import Record
from tests.spark.driver import Events
from tests.spark.sink import deliver

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from pyspark_zkgroup.delta.direct.rules import ReadRange, WrittenFile


def session(name: str) -> SparkSession:
    """The settings are those of the process. `delta.ingest` needs no jars of Delta."""
    return SparkSession.builder.appName(name).getOrCreate()


def writer(spark: SparkSession, job: Job) -> DataStreamWriter:
    return ingest(spark, job.options, str(job.table), checkpointLocation=str(job.checkpoint))


def report_commits(job: Job, events: Events) -> None:
    """From now on each batch of this process is reported, and logged as the other members log
    theirs. Nothing else is changed, and no task runs twice.
    """
    call: Callable[..., None] = Committer.__call__
    commit: Callable[..., None] = Commits.commit
    under_way: list[tuple[int, float]] = []

    def reported_call(self: Committer, batch: DataFrame, batch_id: int) -> None:
        under_way[:] = [(batch_id, time.time())]
        # Of a batch in which the query ends, Spark reports no progress: this stays of it.
        events.add("taken", batch=batch_id, planned=job.planned_at(batch_id))
        call(self, batch, batch_id)
        events.add("appended", batch=batch_id)

    def reported_commit(
        self: Commits, read: Collection[ReadRange], files: Collection[WrittenFile], earliest: Any
    ) -> None:
        number, began = under_way[0]
        deliver(job.sink, number, began, time.time(), records_in(job.table, files))
        commit(self, read, files, earliest)

    Committer.__call__ = reported_call  # type: ignore[method-assign]
    Commits.commit = reported_commit  # type: ignore[method-assign]


def records_in(table: Path, files: Collection[WrittenFile]) -> Iterator[Record]:
    for file in files:
        offsets = pq.ParquetFile(table / file.path).read(columns=["offset"])["offset"]
        for offset in offsets.to_pylist():
            yield file.log.topic, file.log.partition, offset
