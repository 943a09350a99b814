"""Queries of `delta.ingest` into an object store, one after the other in one session.

    python -m tests.spark.s3_driver FILE

FILE is JSON: `store`, the URL of the server, `events`, a directory for Spark's event log, and
`queries`, each with `options`, `table`, `checkpoint`, `storage_options`, and `faults` of the
server. Prints how Spark explains each query, and as the last line how each ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pyspark_zkgroup import delta
from pyspark_zkgroup.errors import ZkgroupError
from tests.object_store.store import Store


def run(spark: SparkSession, store: Store, told: dict[str, Any]) -> dict[str, Any]:
    store.set_faults(*told["faults"])
    try:
        writer = delta.ingest(
            spark,
            told["options"],
            told["table"],
            checkpointLocation=told["checkpoint"],
            storage_options=told["storage_options"],
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
    except (PySparkException, ZkgroupError) as error:
        return {"error": str(error)}
    query.explain(extended=True)
    print([str(one) for one in query.recentProgress])
    return {"batches": len(query.recentProgress), "requests": store.requests()}


def main(file: Path) -> None:
    told = json.loads(file.read_text("utf-8"))
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", told["events"])
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("INFO")
    store = Store(told["store"])
    found = [run(spark, store, one) for one in told["queries"]]
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
