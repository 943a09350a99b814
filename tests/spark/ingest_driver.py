"""One run of `delta.ingest` to the logs' ends, in a separate process, which dies on demand.

    python -m tests.spark.ingest_driver FILE

FILE is JSON: `options`, `table`, `checkpoint`, what else `delta.ingest` takes (`given`),
`through_spark` for `delta.writer` in its place, and `crash`: [n, "before" or "after"], at which
commit of this run and on which side of its effect the process and its JVM are killed. Prints, as
JSON, what Spark then reads from the table.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup import delta
from pyspark_zkgroup.delta.direct import deltars
from tests.spark.processes import send


def crashing(spark: SparkSession, number: int, side: str) -> None:
    commit = deltars.commit
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
    made: list[int] = []

    def planted(*given: Any) -> None:
        made.append(1)
        if len(made) < number:
            commit(*given)
            return
        if side == "after":
            commit(*given)
        send([jvm, os.getpid()], signal.SIGKILL)

    deltars.commit = planted  # type: ignore[assignment]


def main(path: Path) -> None:
    told = json.loads(path.read_text("utf-8"))
    spark = delta.session("ingest driver", print)
    spark.sparkContext.setLogLevel("ERROR")
    if told.get("crash"):
        crashing(spark, *told["crash"])
    table, checkpoint = told["table"], told["checkpoint"]
    if told["through_spark"]:
        frame = spark.readStream.format("zkgroup").options(**told["options"]).load()
        writer = delta.writer(frame, table, checkpointLocation=checkpoint)
    else:
        writer = delta.ingest(
            spark, told["options"], table, checkpointLocation=checkpoint, **told["given"]
        )
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    rows = spark.read.format("delta").load(table)
    found = {
        "batches": len(query.recentProgress),
        "rows": [json.loads(str(one)) for one in rows.toJSON().collect()],
    }
    print(json.dumps(found))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
