"""One Spark task: its ranges become Arrow batches with the columns that the reader asks for.

What a task returns depends on its input alone, so a task that is retried, or runs twice at the same
time, returns the same rows. It knows the brokers and nothing of the group.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_zkgroup.formats.shaping import RowShape, Shaper
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.kafka.pool import ClusterPool
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.records.choice import decoder as chosen_decoder
from pyspark_zkgroup.records.decoder import Decoder, Limits
from pyspark_zkgroup.schema import Column

POOL = ClusterPool()
_EVERY_COLUMN = RowShape()


def read(
    task: TaskInput, settings: FetchSettings, shape: RowShape = _EVERY_COLUMN
) -> Iterator[pa.RecordBatch]:
    ranges = {r.partition: r.range for r in task.ranges}
    marks = {r.partition: r.mark for r in task.ranges}
    if len(ranges) < len(task.ranges):
        raise ValueError(f"the task of {task.thread_id} names a partition twice: {task.ranges}")
    shaper = Shaper(shape)
    decoder = _decoder(settings, shaper.raw)
    with POOL.lease(settings) as cluster:
        for raw in read_ranges(cluster, ranges, marks):
            for batch in decoder.feed(raw.partition, raw.wanted, raw.data, raw.aborted):
                # The next answer comes in meanwhile; the kernel alone holds only some of it.
                cluster.take_in()
                yield from shaper.shaped(batch)
    for batch in decoder.finish():
        yield from shaper.shaped(batch)
    shaper.finish()


def _decoder(settings: FetchSettings, columns: tuple[Column, ...]) -> Decoder:
    return chosen_decoder(
        Limits(
            rows_max=settings.batch_rows_max,
            bytes_max=settings.batch_bytes_max,
            unpacked_bytes_max=settings.record_batch_bytes_max,
        ),
        columns,
    )
