"""Topics, groups and queries of one case, on one kind of brokers and the session of one version."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tests.harness.oracle import Record, Verdict, judge
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Produced, produce

PATIENCE_S = 240.0
# Spark gives a Python worker 10 s to start, which cannot be set and is little on a loaded machine.
SLOW_START = "Python worker failed to connect back"
STARTS_MAX = 3


class SinkError(Exception):
    """A sink of these tests raises it on demand."""


@dataclass
class Sink:
    """The rows of each batch, as foreachBatch was given them. `fail` lets it fail once."""

    batches: dict[int, list[Row]] = field(default_factory=dict)
    fail: bool = False

    def take(self, batch: DataFrame, number: int) -> None:
        self.batches[number] = batch.collect()
        if self.fail:
            self.fail = False
            raise SinkError("as requested")

    @property
    def rows(self) -> list[Row]:
        return [row for _, rows in sorted(self.batches.items()) for row in rows]

    @property
    def sizes(self) -> list[int]:
        return [len(rows) for _, rows in sorted(self.batches.items()) if rows]

    def records(self) -> list[Record]:
        return records(self.rows)


def records(rows: list[Row]) -> list[Record]:
    return [(row["topic"], row["partition"], row["offset"]) for row in rows]


def zookeeper_of(sandbox: Sandbox) -> str:
    """Where groups are: Kafka 3.9 keeps its own nodes there as well, 4.1 has none."""
    if sandbox.parameters.kafka == "3.9":
        return sandbox.kafka_zookeeper_connect
    return sandbox.zookeeper_connect


def group_options(sandbox: Sandbox, group: str, topics: str, **more: str) -> dict[str, str]:
    kraft = sandbox.parameters.kafka != "3.9"
    brokers = {"kafka.bootstrap.servers": sandbox.bootstrap_servers} if kraft else {}
    return {
        **brokers,
        "zookeeper.connect": zookeeper_of(sandbox),
        "zookeeper.session.timeout.ms": "6000",
        "group.id": group,
        "subscribe": topics,
        "threads": "2",
        "startingOffsets": "earliest",
        **more,
    }


class Lab:
    def __init__(self, spark: SparkSession, sandbox: Sandbox, directory: Path) -> None:
        self.spark, self.sandbox, self.directory = spark, sandbox, directory
        self._names = (f"m{uuid.uuid4().hex[:8]}-{n}" for n in itertools.count())
        self._produced: list[Produced] = []
        self._queries: list[StreamingQuery] = []
        self._zookeeper = KazooClient(zookeeper_of(sandbox), timeout=20.0)
        self._zookeeper.start()

    def name(self) -> str:
        return next(self._names)

    def topic(self, partitions: int = 4, count: int = 0) -> str:
        name = self.name()
        self.sandbox.create_topic(name, partitions)
        if count:
            self.produce(name, count)
        return name

    def produce(self, topic: str, count: int, first: int = 0) -> None:
        """Event n has the key kn and the value vn, and is in partition n modulo their number."""
        made = produce(
            self.sandbox.bootstrap_servers,
            topic,
            count,
            first=first,
            make_event=lambda n: (b"k%d" % n, b"v%d" % n),
        )
        self._produced.append(made)

    def options(self, group: str, topics: str, **more: str) -> dict[str, str]:
        return group_options(self.sandbox, group, topics, **more)

    def stream(self, options: Mapping[str, str], schema: str = "") -> DataFrame:
        reader = self.spark.readStream.format("zkgroup").options(**options)
        return (reader.schema(schema) if schema else reader).load()

    def batch(self, options: Mapping[str, str], schema: str = "") -> DataFrame:
        reader = self.spark.read.format("zkgroup").options(**options)
        return (reader.schema(schema) if schema else reader).load()

    def checkpoint(self) -> str:
        return str(self.directory / self.name())

    def start(
        self, frame: DataFrame, sink: Sink, checkpoint: str, **trigger: Any
    ) -> StreamingQuery:
        writer = frame.writeStream.foreachBatch(sink.take)
        return self.started(writer.option("checkpointLocation", checkpoint), **trigger)

    def started(self, writer: DataStreamWriter, **trigger: Any) -> StreamingQuery:
        query = writer.trigger(**trigger).start()
        self._queries.append(query)
        return query

    def run(self, frame: DataFrame, sink: Sink, checkpoint: str, **trigger: Any) -> None:
        writer = frame.writeStream.foreachBatch(sink.take)
        self.finish(writer.option("checkpointLocation", checkpoint), **trigger)

    def finish(self, writer: DataStreamWriter, **trigger: Any) -> None:
        """A query that ends by itself, to its end."""
        for attempt in range(1, STARTS_MAX + 1):
            query = self.started(writer, **trigger)
            try:
                assert query.awaitTermination(int(PATIENCE_S)), "the query does not end by itself"
                return
            except StreamingQueryException as error:
                if SLOW_START not in str(error) or attempt == STARTS_MAX:
                    raise

    def acknowledged(self, *topics: str) -> list[Record]:
        return [
            record
            for produced in self._produced
            if produced.topic in topics
            for record in produced.offsets()
        ]

    def verdict(self, topic: str, *sinks: Sink) -> Verdict:
        return judge(self.acknowledged(topic), [r for sink in sinks for r in sink.records()])

    def ends(self, topic: str) -> dict[int, int]:
        return dict(Counter(partition for _, partition, _ in self.acknowledged(topic)))

    def offsets(self, group: str, topic: str) -> dict[int, int]:
        path = f"/consumers/{group}/offsets/{topic}"
        return {
            int(n): int(self._zookeeper.get(f"{path}/{n}")[0])
            for n in self._zookeeper.get_children(path)
        }

    def shares(self, group: str, topic: str) -> list[int]:
        """How many partitions each owner has, the greatest first."""
        path = f"/consumers/{group}/owners/{topic}"
        try:
            owners = [
                self._zookeeper.get(f"{path}/{n}")[0].decode().rpartition("-")[0]
                for n in self._zookeeper.get_children(path)
            ]
        except NoNodeError:
            return []
        return sorted(Counter(owners).values(), reverse=True)

    def close(self) -> None:
        for query in self._queries:
            query.stop()
        self._zookeeper.stop()
        self._zookeeper.close()
