"""A topic into a new Delta table: `delta.ingest` compared with a plain append by Delta's sink.

Both have the same columns, partition columns, compression and statistics, and a file for each Kafka
partition. With typed columns the peer parses by `from_json`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup import delta
from tests.bench.cases import JSON_DELTA, Case
from tests.bench.sources import Servers, Side, our_options, stream

PARTITION_BY = ["topic", "partition"]
VALUE = "STRUCT<kind: STRING, id: STRING, amount: DOUBLE, text: STRING>"
TYPED = f"topic STRING, partition INT, offset BIGINT, value {VALUE}"


def into_delta(
    spark: SparkSession, case: Case, side: Side, servers: Servers, topic: str, directory: Path
) -> Any:
    table, checkpoint = str(directory / "rows"), str(directory / "checkpoint")
    is_typed = case.sink == JSON_DELTA
    if side == "ours":
        return delta.ingest(
            spark,
            our_options(servers, topic) | ({"value.format": "json"} if is_typed else {}),
            table,
            checkpointLocation=checkpoint,
            schema=TYPED if is_typed else None,
            partition_by=PARTITION_BY,
        )
    frame = stream(spark, "peer", servers, topic)
    if is_typed:
        value = f.from_json(f.col("value").cast("string"), VALUE).alias("value")
        frame = frame.select(*PARTITION_BY, "offset", value)
    writer = frame.writeStream.format("delta").partitionBy(*PARTITION_BY)
    return writer.option("checkpointLocation", checkpoint).option("path", table)
