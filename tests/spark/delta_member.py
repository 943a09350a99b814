"""A member that writes into Delta, in a separate process, which dies or waits on demand.

    python -m tests.spark.delta_member DIRECTORY

DIRECTORY/member.json holds what it reads and writes. Files in DIRECTORY are its orders:

    hold-before   a batch waits just before its append while this is there (it says `held`)
    hold-within   the tasks of the append wait while this is there: Delta's write is under way
    crash-after   once, right after an append: `driver` kills the JVM and this process, `planner`
                  the planner, `planner and batch` the planner, and the batch fails too
    crash-between the same, between the appends of bad and of good rows, where there are two tables
    stop          drains the query and ends

What happens is added to DIRECTORY/events. A query that fails is started again.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StructType

from pyspark_zkgroup import delta, stop
from pyspark_zkgroup.delta import lock
from tests.harness.waiting import wait_until
from tests.spark.processes import find_below, send

HOLD_S_MAX = 300.0
PLANNER_MODULE = "python_streaming_source_runner"


@dataclass(frozen=True)
class Orders:
    directory: Path

    def given(self, order: str) -> bool:
        return (self.directory / order).exists()

    def say(self, event: str) -> None:
        with (self.directory / "events").open("a", encoding="utf-8") as file:
            file.write(event + "\n")

    def wait(self, order: str) -> None:
        if self.given(order):
            self.say(f"held {order}")
            wait_until(lambda: not self.given(order), HOLD_S_MAX, f"{order} to go")

    def taken(self, order: str) -> str:
        """The order's text, and it is done with."""
        path = self.directory / order
        if not path.exists():
            return ""
        text = path.read_text("utf-8")
        path.unlink()
        return text


class Member:
    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self.spark, self.orders = spark, Orders(directory)
        self.told = json.loads((directory / "member.json").read_text("utf-8"))
        self.append = self.appender(self.told["table"])
        bad = self.told.get("bad_table")
        self.append_bad = self.appender(bad) if bad else None
        self.jvm = int(spark._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]

    def appender(self, table: str) -> Callable[[DataFrame, int], None]:
        return delta.appender(table, checkpointLocation=self.told["checkpoint"])

    def take(self, batch: DataFrame, number: int) -> None:
        orders = self.orders
        orders.wait("hold-before")
        if self.append_bad is not None:
            self.append_bad(batch.where("corrupt IS NOT NULL"), number)
            orders.say(f"appended bad {number}")
            self.crash(orders.taken("crash-between"))
            batch = batch.where("corrupt IS NULL")
        if orders.given("hold-within"):
            schema: StructType = batch.schema

            def held(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                orders.wait("hold-within")
                yield from batches

            batch = batch.mapInArrow(held, schema)
        self.append(batch, number)
        orders.say(f"appended {number}")
        self.crash(orders.taken("crash-after"))

    def crash(self, order: str) -> None:
        if not order:
            return
        self.orders.say(f"crash {order}")
        if order == "driver":
            send([self.jvm, os.getpid()], signal.SIGKILL)
        send([find_below(self.jvm, PLANNER_MODULE)], signal.SIGKILL)
        if order == "planner and batch":
            raise RuntimeError("the batch fails after its append, as the test asks")

    def start(self) -> StreamingQuery:
        reader = self.spark.readStream.format("zkgroup").options(**self.told["options"])
        schema = self.told.get("schema")
        frame = (reader.schema(schema) if schema else reader).load()
        writer = frame.writeStream.foreachBatch(self.take)
        return writer.option("checkpointLocation", self.told["checkpoint"]).start()

    def run(self) -> None:
        while True:
            query = self.start()
            wait_until(
                lambda query=query: self.orders.given("stop") or not query.isActive,  # type: ignore[misc]
                24 * 3600.0,
                "an order to stop",
            )
            if query.isActive:
                stop(query)
                return
            self.orders.say(f"failed {str(query.exception()).splitlines()[0]}")


def main() -> None:
    lock.WAITING_SAID_EVERY_S = 1.0
    spark = delta.session("delta member", print)
    spark.sparkContext.setLogLevel("ERROR")
    Member(spark, Path(sys.argv[1])).run()
    spark.stop()


if __name__ == "__main__":
    main()
