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
    json_options = {**options, "value.format": "json"}
    typed = spark.read.format("zkgroup").options(**json_options).schema(TYPED).load()
    found["columns"] = typed.columns
    found["events"] = sorted(row.event for row in typed.select("value.event").collect())
    stream = spark.readStream.format("zkgroup").options(**json_options).schema(TYPED).load()
    rows = stream.select("topic", "partition", "offset", "value.event")
    writer = rows.writeStream.format("parquet")
    writer = writer.option("checkpointLocation", str(directory / "checkpoint"))
    query = writer.trigger(availableNow=True).start(str(directory / "rows"))
    found["ended"] = query.awaitTermination(PATIENCE_S)
    shown = progress(query)
    found["progress"] = None if shown is None else {"group": shown["group"], "held": shown["held"]}
    table = spark.read.parquet(str(directory / "rows"))
    places = table.select("topic", "partition", "offset")
    found["stream"] = [list(row) for row in places.collect()]
    found["stream events"] = sorted(row.event for row in table.collect())
    again = writer.option("checkpointLocation", str(directory / "another"))
    going = again.trigger(processingTime="0 seconds").start(str(directory / "more"))
    stop(going)
    found["active"] = going.isActive
    try:
        delta.writer(rows, str(directory / "table"), checkpointLocation=str(directory / "third"))
    except DeltaError as error:
        found["delta"] = error.what
    spark.stop()
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
