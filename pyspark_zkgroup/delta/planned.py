"""Reads from Spark's offset log what a batch was planned to hold, without a look at a row.

Spark logs a batch's end before it runs the batch, and that end is our plan with all its ranges. A
batch can hold less (what a replay has left out, what the query has filtered), never more.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup import plan
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class Planned:
    """`logs` name the topics' ids, where brokers send them."""

    ranges: Mapping[TopicPartition, OffsetRange]
    logs: frozenset[Log]


def planned(spark: SparkSession, checkpoint: str, batch_id: int) -> Planned:
    path = f"{checkpoint.rstrip('/')}/offsets/{batch_id}"
    text = _read(spark, path)
    return Planned(ranges_in(text, path), logs_in(text))


def logs_in(offset_log: str) -> frozenset[Log]:
    """Return the logs of which there is something to read."""
    ranges = (r for p in _plans(offset_log) for r in p.ranges)
    return frozenset(Log(*r.partition, r.mark.topic_id) for r in ranges if len(r.range) > 0)


def ranges_in(offset_log: str, path: str) -> dict[TopicPartition, OffsetRange]:
    """Return the plan of all zkgroup sources of the query: two of them may read one partition."""
    found: dict[TopicPartition, OffsetRange] = {}
    plans = _plans(offset_log)
    if not plans:
        raise DeltaError(
            f"{path} holds no plan of a zkgroup source",
            "Give the query's own checkpointLocation; "
            "if the rows do not come from zkgroup, use append_once(batch, path)",
        )
    for one in (r for p in plans for r in p.ranges if len(r.range) > 0):
        other = found.get(one.partition, one.range)
        found[one.partition] = OffsetRange(
            min(other.start, one.range.start), max(other.until, one.range.until)
        )
    return found


def _plans(offset_log: str) -> list[plan.Plan]:
    return [p for line in offset_log.splitlines() if (p := _plan(line)) is not None]


def _plan(line: str) -> plan.Plan | None:
    """The log's first lines are its version and Spark's own facts; other sources have theirs."""
    try:
        offset = json.loads(line)
    except ValueError:
        return None
    ours = isinstance(offset, dict) and {"version", "protocol", "member"} <= offset.keys()
    return plan.decode(offset) if ours else None


def _read(spark: SparkSession, path: str) -> str:
    """Read by the JVM, which knows every storage that a checkpoint may lie on."""
    jvm: Any = spark._jvm
    place = jvm.org.apache.hadoop.fs.Path(path)
    storage = place.getFileSystem(spark._jsc.hadoopConfiguration())
    if not storage.exists(place):
        raise DeltaError(
            f"there is no {path}, where Spark logs the batch's plan",
            "Give the checkpointLocation that the query itself has",
        )
    stream = storage.open(place)
    try:
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()
