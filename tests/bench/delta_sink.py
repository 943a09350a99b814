"""A topic into a new Delta table: `delta.ingest` compared with a plain append by Delta's sink.

Both have the same columns, partition columns, compression and statistics, and a file for each Kafka
partition. With typed columns the peer parses by `from_json` or `from_avro`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as f

from pyspark_zkgroup import delta
from tests.bench import typed
from tests.bench.cases import AVRO_DELTA, JSON_DELTA, Case
from tests.bench.sources import Servers, Side, our_options, stream

PARTITION_BY = ["topic", "partition"]
JSON_VALUE = "STRUCT<kind: STRING, id: STRING, amount: DOUBLE, text: STRING>"


def into_delta(
    spark: SparkSession, case: Case, side: Side, servers: Servers, topic: str, directory: Path
) -> Any:
    table, checkpoint = str(directory / "rows"), str(directory / "checkpoint")
    kind = {JSON_DELTA: JSON_VALUE, AVRO_DELTA: typed.ORDER_VALUE}.get(case.sink)
    if side == "ours":
        return delta.ingest(
            spark,
            our_options(servers, topic) | _format(case, servers),
            table,
            checkpointLocation=checkpoint,
            schema=kind and typed.columns(kind),
            partition_by=PARTITION_BY,
        )
    frame = stream(spark, "peer", servers, topic)
    if kind:
        frame = frame.select(*PARTITION_BY, "offset", _parsed(case).alias("value"))
    writer = frame.writeStream.format("delta").partitionBy(*PARTITION_BY)
    return writer.option("checkpointLocation", checkpoint).option("path", table)


def _format(case: Case, servers: Servers) -> dict[str, str]:
    if case.sink == AVRO_DELTA:
        return typed.our_format(typed.AVRO, servers)
    return {"value.format": "json"} if case.sink == JSON_DELTA else {}


def _parsed(case: Case) -> Any:
    if case.sink == AVRO_DELTA:
        return typed.peer_value(typed.AVRO)
    return f.from_json(f.col("value").cast("string"), JSON_VALUE)
