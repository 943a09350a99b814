"""Decides which rows of a batch are compared with the table before Spark appends them.

A batch that was transformed does not tell what was read: rows may be dropped, and a replay leaves
out what another member has taken over. So it moves no watermark, since `delta.ingest` drops what is
below one. Instead the table keeps a bound for each partition, also as an application transaction:
it has no row at or beyond the bound and the watermark. Batches begin there in the steady state, and
their rows are appended without a look at the table. Rows below are compared with it, as they are
after a crash, after a reset, and where a gap is filled.

So a bound may be too high, which costs a comparison, but never too low.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.delta.direct.rules import ADOPTED, Log, Watermarks
from pyspark_zkgroup.model import OffsetRange, TopicPartition


@dataclass(frozen=True, slots=True)
class Marks:
    """What a table's application transactions hold at one of its versions."""

    watermarks: Watermarks
    bounds: Mapping[TopicPartition, int]


@dataclass(frozen=True, slots=True)
class Look:
    """`compared` are the offsets at which the table may have rows; the commit moves `bounds`."""

    compared: Mapping[TopicPartition, OffsetRange]
    bounds: Mapping[TopicPartition, int]


def look(marks: Marks, ranges: Mapping[TopicPartition, OffsetRange], logs: Collection[Log]) -> Look:
    """Return what an append of rows within these ranges compares and moves. `logs` are those that
    the batch was planned from; rows of a partition without one are all compared.
    """
    by_partition: dict[TopicPartition, list[Log]] = {}
    for log in logs:
        by_partition.setdefault(log.of, []).append(log)
    compared: dict[TopicPartition, OffsetRange] = {}
    bounds: dict[TopicPartition, int] = {}
    for partition, span in ranges.items():
        bound = marks.bounds.get(partition, 0)
        end = _end(marks.watermarks, by_partition.get(partition, []))
        known = span.until if end is None else max(end, bound)
        if known > span.start:
            compared[partition] = OffsetRange(span.start, min(known, span.until))
        if span.until > (bound if end is None else known):
            bounds[partition] = span.until
    return Look(compared, bounds)


def _end(watermarks: Watermarks, logs: Collection[Log]) -> int | None:
    """Return the highest watermark; None where it is that of a log which is not known here."""
    found = 0
    for log in logs:
        before = watermarks.get(log.without_id)
        if not log.topic_id and before == ADOPTED:
            return None
        found = max(found, watermarks.get(log, 0), before or 0)
    return found if logs else None
