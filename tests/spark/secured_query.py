"""One query against secured brokers, told by a JSON file; what it shows goes to its own output.

    python -m tests.spark.secured_query SETTINGS_FILE

It prints how Spark explains the query, in every form there is, then as the last line the rows that
were read, or how the query ended.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

ATTEMPTS = 5


def run(spark: SparkSession, settings: dict[str, Any]) -> dict[str, Any]:
    stream = spark.readStream.format("zkgroup").options(**settings["options"]).load()
    stream.explain(extended=True)
    query = (
        stream.selectExpr("CAST(value AS STRING) AS value")
        .writeStream.format("memory")
        .queryName("read")
        .option("checkpointLocation", settings["checkpoint"])
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    except PySparkException as error:
        return {"error": str(error)}
    query.explain(extended=True)
    print(query.lastProgress)
    rows = [row.value for row in spark.table("read").collect()]
    return {"rows": sorted(rows, key=int)}


def run_patiently(spark: SparkSession, settings: dict[str, Any]) -> dict[str, Any]:
    """Spark waits ten seconds for a Python process to begin: too few on a loaded machine. Each
    attempt has a separate checkpoint, as a memory sink cannot continue from another one.
    """
    for attempt in range(ATTEMPTS):
        found = run(spark, {**settings, "checkpoint": f"{settings['checkpoint']}/{attempt}"})
        if "failed to connect back" not in found.get("error", ""):
            break
    return found


def main(file: Path) -> None:
    settings = json.loads(file.read_text())
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.redaction.string.regex", settings["redaction"])
        .config("spark.eventLog.enabled", "true")
        .config("spark.eventLog.compress", "false")
        .config("spark.eventLog.dir", settings["events"])
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("INFO")
    found = [run_patiently(spark, {**settings, **one}) for one in settings["queries"]]
    spark.stop()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
