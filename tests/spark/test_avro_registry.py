"""A stream whose columns come from a registry, while the schema of the records changes."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.registry import pins
from tests.harness.drawn_avro import encoded
from tests.harness.small_spark import small_spark
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import produce

pytestmark = [
    pytest.mark.long,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.filterwarnings("default"),
]

OLD = {
    "type": "record",
    "name": "order",
    "fields": [{"name": "id", "type": "int"}, {"name": "user", "type": "string"}],
}
NEW = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "id", "type": "int"},
        {"name": "more", "type": ["null", "double"], "default": None},
    ],
}


AWAY_S = 30.0


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    directory = tmp_path_factory.mktemp("servers")
    with Sandbox(directory, kafka="4.1", zookeepers=0, registry=True) as made:
        yield made


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    with small_spark() as made:
        yield made


class Story:
    def __init__(
        self, spark: SparkSession, servers: Sandbox, checkpoint: Path, topic: str = "orders"
    ) -> None:
        self.spark = spark
        self.servers = servers
        self.topic = topic
        self.checkpoint = checkpoint
        self.rows: list[Row] = []
        servers.create_topic(topic, 1)

    def register(self, schema: Any) -> int:
        return self.servers.registry.register(f"{self.topic}-value", json.dumps(schema))

    def produce(self, *records: tuple[int, Any, Any]) -> None:
        values = [b"\0" + n.to_bytes(4, "big") + encoded(kind, one) for n, kind, one in records]
        produce(
            self.servers.bootstrap_servers,
            self.topic,
            len(values),
            make_event=lambda n: (b"k", values[n]),
        )

    def load(self, asked: str = "", **more: str) -> DataFrame:
        options = {
            "kafka.bootstrap.servers": self.servers.bootstrap_servers,
            "group.id": f"billing-{self.topic}",
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "value.format": "avro",
            "schema.registry.url": self.servers.registry.url,
            "checkpointLocation": str(self.checkpoint),
            **more,
        }
        reader = self.spark.readStream.format("zkgroup").options(**options)
        return (reader.schema(asked) if asked else reader).load()

    def writer(self, frame: DataFrame, checkpoint: Path | None = None) -> DataStreamWriter:
        taking = frame.writeStream.foreachBatch(lambda batch, _: self.rows.extend(batch.collect()))
        return taking.option("checkpointLocation", str(checkpoint or self.checkpoint))

    def run(self, frame: DataFrame, checkpoint: Path | None = None) -> None:
        query = self.writer(frame, checkpoint).trigger(availableNow=True).start()
        try:
            assert query.awaitTermination(120)
        finally:
            query.stop()

    def taken(self) -> list[Any]:
        found = [row["value"].asDict() for row in sorted(self.rows, key=lambda row: row["offset"])]
        self.rows.clear()
        return found


def test_columns_stay_while_schemas_change(
    spark: SparkSession, servers: Sandbox, tmp_path: Path
) -> None:
    story = Story(spark, servers, tmp_path / "checkpoint")
    old = story.register(OLD)
    story.produce((old, OLD, {"id": 1, "user": "ann"}))
    frame = story.load()
    assert frame.schema["value"].dataType.simpleString() == "struct<id:int,user:string>"
    story.run(frame)
    assert story.taken() == [{"id": 1, "user": "ann"}]

    new = story.register(NEW)
    story.produce(
        (old, OLD, {"id": 2, "user": "bob"}),
        (new, NEW, {"id": 3, "user": "eve", "more": 0.5}),
        (old, OLD, {"id": 4, "user": "joe"}),
    )
    story.run(story.load())
    assert story.taken() == [
        {"id": 2, "user": "bob"},
        {"id": 3, "user": "eve"},
        {"id": 4, "user": "joe"},
    ]

    (story.checkpoint / pins.FILE).unlink()
    story.produce((new, NEW, {"id": 5, "user": "ann", "more": 1.5}))
    story.run(story.load())
    assert story.taken() == [{"user": "ann", "id": 5, "more": 1.5}]

    story.produce((10**6, OLD, {"id": 6, "user": "x"}), (old, OLD, {"id": 7, "user": "ann"}))
    with pytest.raises(PySparkException, match=r"ZKG-017.* has no schema with the id 1000000"):
        story.run(story.load())
    asked = "offset BIGINT, value STRUCT<id: BIGINT>, corrupt STRUCT<bytes: BINARY, reason: STRING>"
    other = {"group.id": "other", "checkpointLocation": str(tmp_path / "other")}
    story.rows.clear()
    story.run(story.load(asked, **other), tmp_path / "other")
    good = [row["value"]["id"] for row in story.rows if row["corrupt"] is None]
    bad = [row["corrupt"]["reason"] for row in story.rows if row["corrupt"] is not None]
    assert sorted(good) == [1, 2, 3, 4, 5, 7]
    assert bad == ["value: the registry has no schema with the id 1000000"]


def test_a_registry_that_is_away_for_a_while_loses_nothing(
    spark: SparkSession, servers: Sandbox, tmp_path: Path
) -> None:
    """Records that name a schema that no task has seen wait for it; the query continues."""
    story = Story(spark, servers, tmp_path / "checkpoint", "away")
    old = story.register(OLD)
    story.produce((old, OLD, {"id": 1, "user": "ann"}))
    query = story.writer(story.load()).start()
    try:
        wait_until(lambda: story.rows, 120, "the first record")
        # The same text would have the id that the first test has taught the workers.
        new = story.register({**NEW, "doc": story.topic})
        servers.registry.kill()
        back = threading.Timer(AWAY_S, servers.registry.start)
        begun = time.monotonic()
        back.start()
        story.produce(
            (new, NEW, {"id": 2, "user": "bob", "more": 0.5}), (old, OLD, {"id": 3, "user": "eve"})
        )
        wait_until(lambda: len(story.rows) == 3, 180, "the records of the time without a registry")
        assert time.monotonic() - begun >= AWAY_S
        back.join()
        story.produce((new, NEW, {"id": 4, "user": "joe", "more": 1.5}))
        wait_until(lambda: len(story.rows) == 4, 120, "the last record")
        assert query.isActive
    finally:
        query.stop()
        servers.registry.start()
    names = ("ann", "bob", "eve", "joe")
    assert story.taken() == [{"id": n + 1, "user": name} for n, name in enumerate(names)]


def test_a_deleted_subject_is_read_on_by_its_checkpoint(
    spark: SparkSession, servers: Sandbox, tmp_path: Path
) -> None:
    story = Story(spark, servers, tmp_path / "checkpoint", "deleted")
    number = story.register(OLD)
    story.produce((number, OLD, {"id": 1, "user": "ann"}))
    story.run(story.load())
    servers.registry.delete(f"{story.topic}-value")
    story.produce((number, OLD, {"id": 2, "user": "bob"}))
    story.run(story.load())
    assert story.taken() == [{"id": 1, "user": "ann"}, {"id": 2, "user": "bob"}]
    with pytest.raises(PySparkException, match="has no subject 'deleted-value'"):
        story.load(checkpointLocation=str(tmp_path / "new"), **{"group.id": "new"})
