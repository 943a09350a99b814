"""A job for a cluster: reads what a group has not read yet, and waits while it is inspected.

spark-submit submitted.py PLAN

PLAN is a file of JSON: the reader's options, whether to register the source, and the directory for
rows and checkpoint, where `report.json` has the result. There is also a pipe, `go`: the job ends
when the test writes to it.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession


def main(plan: dict[str, Any]) -> None:
    place = Path(plan["directory"])
    report: dict[str, Any] = {"python": sys.executable}
    spark = SparkSession.builder.appName("submitted").getOrCreate()
    try:
        report |= read(spark, plan, place)
    except Exception as error:  # noqa: BLE001 - the test wants to see it
        report["error"] = str(error)
    partial = place / "report.part"
    partial.write_text(json.dumps(report))
    partial.replace(place / "report.json")
    (place / "go").read_text()
    spark.stop()


def read(spark: SparkSession, plan: dict[str, Any], place: Path) -> dict[str, Any]:
    import pyspark_zkgroup

    if plan["register"]:
        pyspark_zkgroup.register(spark)
    frame = spark.readStream.format("zkgroup").options(**plan["options"]).load()
    writer = frame.writeStream.format("parquet").option("path", str(place / "rows"))
    writer = writer.option("checkpointLocation", plan["options"]["checkpointLocation"])
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    return {"package": pyspark_zkgroup.__file__, "path": os.environ.get("PYTHONPATH")}


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
