"""One run of `delta.ingest` to the logs' ends, in a separate process, which dies on demand.

    python -m tests.spark.ingest_driver FILE

FILE is JSON: `options`, `table`, `checkpoint`, what else `delta.ingest` takes (`given`),
`through_spark` for `delta.writer` in its place, and `crash`: [n, step], at which commit of this run
the process and its JVM are killed: `before` or `after` its effect, or where files are `staged` and
not moved into the table. With the step `writing` n is the number of files begun. Prints, as JSON,
what Spark then reads from the table.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pyspark_zkgroup import delta
from pyspark_zkgroup.delta import bounded
from pyspark_zkgroup.delta.direct import deltars
from tests.harness.waiting import wait_until
from tests.spark.processes import send

FILES_S = 240.0


def crashing(spark: SparkSession, number: int, step: str, table: Path) -> None:
    jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]

    def die() -> None:
        send([jvm, os.getpid()], signal.SIGKILL)

    if step == "writing":
        threading.Thread(target=when_files_appear, args=(table, number, die), daemon=True).start()
        return
    if step == "staged":
        bounded.move = planted(bounded.move, number, before=die)  # type: ignore[attr-defined]
        return
    before, after = (die, None) if step == "before" else (None, die)
    deltars.commit = planted(deltars.commit, number, before, after)


def planted(
    step: Callable[..., None],
    number: int,
    before: Callable[[], None] | None = None,
    after: Callable[[], None] | None = None,
) -> Callable[..., None]:
    made: list[int] = []

    def with_crash(*given: Any) -> None:
        made.append(1)
        if len(made) == number and before:
            before()
        step(*given)
        if len(made) == number and after:
            after()

    return with_crash


def when_files_appear(table: Path, number: int, die: Callable[[], None]) -> None:
    """In the middle of a batch: tasks have begun so many files, and no commit names them."""
    known = set(table.rglob("*.parquet"))

    def have_appeared() -> bool:
        return len(set(table.rglob("*.parquet")) - known) >= number

    wait_until(have_appeared, FILES_S, f"{number} files", interval_s=0.001)
    die()


def main(path: Path) -> None:
    told = json.loads(path.read_text("utf-8"))
    spark = delta.session("ingest driver", print)
    spark.sparkContext.setLogLevel("ERROR")
    # viewfs://local/path is /path: an address that Spark opens and Python does not.
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    hadoop.set("fs.viewfs.mounttable.local.linkMergeSlash", "file:///")
    if told.get("crash"):
        number, step = told["crash"]
        crashing(spark, number, step, Path(told["table"]))
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
