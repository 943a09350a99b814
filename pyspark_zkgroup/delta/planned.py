"""What a batch was planned to hold: Spark's offset log knows, without a look at a row.

Spark logs a batch's end before it runs the batch, and that end is our plan with all its ranges. A
batch can hold less (what a replay has left out, what the query has filtered), never more.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup import plan
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def planned_ranges(
    spark: SparkSession, checkpoint: str, batch_id: int
) -> dict[TopicPartition, OffsetRange]:
    path = f"{checkpoint.rstrip('/')}/offsets/{batch_id}"
    return ranges_in(_read(spark, path), path)


def ranges_in(offset_log: str, path: str) -> dict[TopicPartition, OffsetRange]:
    """Of all zkgroup sources of the query together: two of them may read one partition."""
    found: dict[TopicPartition, OffsetRange] = {}
    plans = [p for line in offset_log.splitlines() if (p := _plan(line)) is not None]
    if not plans:
        raise DeltaError(
            f"{path} holds no plan of a zkgroup source",
            "Give the query's own checkpointLocation; "
            "if the rows do not come from zkgroup, use append_once(batch, path)",
        )
    for planned in (r for p in plans for r in p.ranges if len(r.range) > 0):
        other = found.get(planned.partition, planned.range)
        found[planned.partition] = OffsetRange(
            min(other.start, planned.range.start), max(other.until, planned.range.until)
        )
    return found


def _plan(line: str) -> plan.Plan | None:
    """The log's first lines are its version and Spark's own facts; other sources have theirs."""
    try:
        offset = json.loads(line)
    except ValueError:
        return None
    ours = isinstance(offset, dict) and {"version", "protocol", "member"} <= offset.keys()
    return plan.decode(offset) if ours else None


def _read(spark: SparkSession, path: str) -> str:
    """By the JVM, which knows every storage that a checkpoint may lie on."""
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
