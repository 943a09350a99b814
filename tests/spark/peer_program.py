"""A Spark session with Spark's own Kafka source and ours: it reads with either, and produces.

    python -m tests.spark.peer_program

One JSON object a line on its input, one a line as the answer; see peer.py for the words. What
produces is Kafka's own client, which Spark's source brings.
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow.parquet
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.shuffle.partitions": "1",
    "spark.python.unix.domain.socket.enabled": "true",
}
# A metric of Spark's scans.
RECEIVED = "numOutputRows"
BYTES = "org.apache.kafka.common.serialization.ByteArraySerializer"
ATTEMPTS = 6


def ended(start: Callable[[], StreamingQuery], wait: Callable[[StreamingQuery], object]) -> int:
    """The number of batches that had rows. Spark waits ten seconds for a Python process to begin:
    too few on a loaded machine, so the query continues from its checkpoint.
    """
    batches, failed = 0, 0
    while True:
        query = start()
        try:
            wait(query)
        except PySparkException as error:
            failed += 1
            if failed == ATTEMPTS or "failed to connect back" not in str(error):
                raise
        else:
            failed = 0
        finally:
            batches += len([p for p in query.recentProgress if p.numInputRows])
            query.stop()
        if not failed:
            return batches


def unpacked(text: str | None) -> bytearray | None:
    return None if text is None else bytearray(base64.b64decode(text))


class Program:
    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        assert spark._jvm is not None
        self.java: Any = spark._jvm
        self.open: list[Any] = []
        self.frames: dict[str, DataFrame] = {}

    def read(self, source: str, options: Mapping[str, str], into: str) -> dict[str, Any]:
        rows = self.spark.readStream.format(source).options(**options).load()
        writer = (
            rows.writeStream.format("parquet")
            .option("checkpointLocation", f"{into}.checkpoint")
            .trigger(availableNow=True)
        )
        batches = ended(lambda: writer.start(into), lambda query: query.awaitTermination())
        return {"schema": rows.schema.simpleString(), "batches": batches}

    def read_batch(
        self, source: str, options: Mapping[str, str], where: list[str], into: str, pushed: bool
    ) -> dict[str, Any]:
        """`received`: rows that Python has handed to Spark, before Spark's own filters."""
        self.spark.conf.set("spark.sql.python.filterPushdown.enabled", str(pushed).lower())
        rows = self.spark.read.format(source).options(**options).load()
        schema = rows.schema.simpleString()
        for condition in where:
            rows = rows.where(condition)
        table = rows.toArrow()
        Path(into).mkdir(parents=True)
        pyarrow.parquet.write_table(table, f"{into}/rows.parquet")
        plan = rows._jdf.queryExecution().executedPlan()
        leaves = plan.collectLeaves()
        metrics = [leaves.apply(n).metrics() for n in range(leaves.size())]
        received = [m.apply(RECEIVED) for m in metrics if m.contains(RECEIVED)]
        return {
            "schema": schema,
            "received": sum(metric.value() for metric in received),
            "plan": plan.toString(),
        }

    def stream(
        self,
        sources: list[dict[str, str]],
        how: str,
        sink: dict[str, str],
        checkpoint: str,
        trigger: dict[str, Any],
    ) -> dict[str, Any]:
        """Several of our sources in one query: their `union`, or one with itself (`self-join`). It
        ends by itself, or, with a trigger that does not, when it has nothing to do.
        """
        frames = [self.spark.readStream.format("zkgroup").options(**one).load() for one in sources]
        if how == "self-join":
            # Each column has a new name: Spark takes one that has not for that of another source.
            keys = ["number", "position"]
            columns = ("concat(value) AS value", "partition AS number", "offset AS position")
            left = frames[0].selectExpr(*columns)
            rows = left.join(left.withColumnRenamed("value", "again"), keys)
        else:
            rows = reduce(DataFrame.unionByName, frames)
            rows = rows.selectExpr("value", "topic as origin", "partition", "offset")
        if sink["format"] == "kafka":
            rows = rows.select("value")
        given = {name: value for name, value in sink.items() if name != "format"}
        writer = rows.writeStream.format(sink["format"]).options(**given)
        writer = writer.option("checkpointLocation", checkpoint).trigger(**trigger)

        def wait(query: StreamingQuery) -> None:
            if "availableNow" in trigger:
                query.awaitTermination()
            else:
                query.processAllAvailable()

        return {"batches": ended(writer.start, wait)}

    def frame(
        self, source: str, options: Mapping[str, str], name: str, where: str
    ) -> dict[str, Any]:
        self.frames[name] = self.spark.read.format(source).options(**options).load().where(where)
        return {}

    def act(self, name: str, action: str, pushed: bool) -> dict[str, Any]:
        """How many rows an action on a frame made before has found."""
        self.spark.conf.set("spark.sql.python.filterPushdown.enabled", str(pushed).lower())
        frame = self.frames[name]
        if action == "union":
            return {"rows": frame.union(frame).count()}
        return {"rows": frame.count() if action == "count" else len(frame.collect())}

    def sql(self, statements: list[str]) -> dict[str, Any]:
        """The rows of the last one."""
        rows = [self.spark.sql(statement) for statement in statements][-1].collect()
        return {"rows": [list(row) for row in rows]}

    def produce(
        self, properties: Mapping[str, str], records: list[list[Any]], end: str
    ) -> dict[str, Any]:
        """`end` of a transaction: commit, abort, or open; or, without one, nothing."""
        kafka = self.java.org.apache.kafka
        given = self.java.java.util.Properties()
        for name, value in properties.items():
            given.put(name, value)
        given.put("key.serializer", BYTES)
        given.put("value.serializer", BYTES)
        producer = kafka.clients.producer.KafkaProducer(given)
        if end:
            producer.initTransactions()
            producer.beginTransaction()
        sent = [producer.send(self._record(*record)) for record in records]
        producer.flush()
        offsets = [future.get().offset() for future in sent]
        if end == "open":
            self.open.append(producer)
        else:
            {"commit": producer.commitTransaction, "abort": producer.abortTransaction}.get(
                end, producer.flush
            )()
            producer.close()
        return {"offsets": offsets}

    def abort_open(self) -> dict[str, Any]:
        for producer in self.open:
            producer.abortTransaction()
            producer.close()
        self.open.clear()
        return {}

    def _record(
        self,
        topic: str,
        partition: int,
        timestamp_ms: int | None,
        key: str | None,
        value: str | None,
        headers: list[tuple[str, str | None]],
    ) -> Any:
        kafka = self.java.org.apache.kafka
        made = kafka.common.header.internals.RecordHeaders()
        for name, content in headers:
            made.add(name, unpacked(content))
        return kafka.clients.producer.ProducerRecord(
            topic, partition, timestamp_ms, unpacked(key), unpacked(value), made
        )


def main() -> None:
    builder = SparkSession.builder.master("local[2]").appName("zkgroup-peer")
    for key, value in {**CONF, "spark.jars": os.environ["PEER_JARS"]}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    program = Program(spark)
    words: dict[str, Callable[..., dict[str, Any]]] = {
        "read": program.read,
        "read_batch": program.read_batch,
        "sql": program.sql,
        "stream": program.stream,
        "frame": program.frame,
        "act": program.act,
        "produce": program.produce,
        "abort_open": program.abort_open,
    }
    print(json.dumps({"ready": True}), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        try:
            answer = words[command.pop("do")](**command)
        except Exception as problem:  # noqa: BLE001 - told to the test, which judges it
            answer = {"error": str(problem)}
        print(json.dumps(answer), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
