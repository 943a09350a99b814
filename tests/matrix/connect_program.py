"""One query each way by Spark Connect: a client that starts its server.

    python -m tests.matrix.connect_program OPTIONS_AS_JSON DIRECTORY

The last line of its output is what it found, as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup import delta, progress, stop
from pyspark_zkgroup.errors import DeltaError
from tests.matrix.session import CONF

PATIENCE_S = 240
TYPED = "value STRUCT<event: BIGINT, amount: DOUBLE>, offset BIGINT, partition INT, topic STRING"


def main() -> None:
    options, directory = json.loads(sys.argv[1]), Path(sys.argv[2])
    builder = SparkSession.builder.remote("local[2]")
    for name, value in CONF.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    found: dict[str, Any] = {"session": type(spark).__module__}
    read = spark.read.format("zkgroup").options(**options).load()
    found["batch"] = [list(row) for row in read.select("topic", "partition", "offset").collect()]
    stream = spark.readStream.format("zkgroup").options(**options).load()
    rows = stream.select("topic", "partition", "offset")
    writer = rows.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(directory / "rows"))
    found["ended"] = query.awaitTermination(PATIENCE_S)
    shown = progress(query)
    found["progress"] = None if shown is None else {"group": shown["group"], "held": shown["held"]}
    table = spark.read.parquet(str(directory / "rows"))
    found["stream"] = [list(row) for row in table.collect()]
    again = writer.option("checkpointLocation", str(directory / "another"))
    going = again.trigger(processingTime="0 seconds").start(str(directory / "more"))
    stop(going)
    found["active"] = going.isActive
    found |= typed(spark, {**options, "group.id": f"{options['group.id']}-typed"}, directory)
    try:
        delta.writer(rows, str(directory / "table"), checkpointLocation=str(directory / "third"))
    except DeltaError as error:
        found["delta"] = error.what
    spark.stop()
    print(json.dumps(found), flush=True)


def typed(spark: SparkSession, options: dict[str, str], directory: Path) -> dict[str, Any]:
    """The columns that `.schema` names, in a batch and in a stream."""
    asked = {**options, "value.format": "json"}
    read = spark.read.format("zkgroup").options(**asked).schema(TYPED).load()
    found = [row.value.event for row in read.collect()]  # before the stream commits
    stream = spark.readStream.format("zkgroup").options(**asked).schema(TYPED).load()
    writer = stream.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(directory / "typed-checkpoint"))
    query = writer.trigger(availableNow=True).start(str(directory / "typed"))
    ended = query.awaitTermination(PATIENCE_S)
    written = spark.read.parquet(str(directory / "typed"))
    return {
        "typed ended": ended,
        "columns": [read.columns, written.columns],
        "events": [sorted(found), sorted(row.value.event for row in written.collect())],
    }


if __name__ == "__main__":
    main()
