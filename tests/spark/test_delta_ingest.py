"""`delta.ingest` on real servers: drivers are killed around a commit, and each record is in the
table once, as Spark and as delta-rs read it.
"""

from __future__ import annotations

import base64
import json
import random
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from tests.harness.decoder import needs_decoder
from tests.spark.driven import driven, printed
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Produced, produce

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PARTITIONS, EVENTS = 3, 1_500
WITHIN_S = 240.0
TYPED = "topic STRING, partition INT, offset BIGINT, value STRUCT<event: BIGINT, customer: STRING>"


@dataclass(frozen=True)
class Scene:
    sandbox: Sandbox
    directory: Path
    topic: str

    def produce(self, events: int) -> Produced:
        return produce(self.sandbox.bootstrap_servers, self.topic, events)

    def run(
        self,
        table: str,
        checkpoint: str,
        crash: tuple[int, str] | None = None,
        given: Mapping[str, Any] | None = None,
        limit: int = 10_000,
        typed: str = "binary",
        *,
        through_spark: bool = False,
        scheme: str = "",
    ) -> dict[str, Any]:
        """Return what the driver printed; nothing if it was killed, as it was asked to be."""
        told = {
            "options": {
                "protocol": "kafka",
                "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
                "session.timeout.ms": "6000",
                "heartbeat.interval.ms": "500",
                "group.id": f"group-{table}-{self.topic}",
                "subscribe": self.topic,
                "startingOffsets": "earliest",
                "maxOffsetsPerTrigger": str(limit),
                "value.format": typed,
            },
            "table": self.table(table),
            "checkpoint": f"{scheme}{self.directory / checkpoint}",
            "crash": crash,
            "through_spark": through_spark,
            "given": dict(given or {}),
        }
        file = self.directory / f"{uuid.uuid4().hex}.json"
        file.write_text(json.dumps(told), "utf-8")
        shown = driven(
            "tests.spark.ingest_driver", str(file), directory=self.directory, within_s=WITHIN_S
        )
        if crash is not None:
            assert shown.returncode != 0
            return {}
        return printed(shown)

    def table(self, name: str) -> str:
        return str(self.directory / name)

    def has(self, table: str) -> bool:
        return DeltaTable.is_deltatable(self.table(table))

    def by_delta_rs(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = DeltaTable(self.table(table)).to_pyarrow_table().to_pylist()
        return found


@pytest.fixture
def scene(sandbox_41: Sandbox, tmp_path: Path) -> Scene:
    topic = f"ingest-{uuid.uuid4().hex[:8]}"
    sandbox_41.create_topic(topic, PARTITIONS)
    return Scene(sandbox_41, tmp_path, topic)


def places(rows: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    return sorted((row["topic"], row["partition"], row["offset"]) for row in rows)


def test_each_record_is_in_the_table_once_whatever_is_killed(scene: Scene) -> None:
    produced = scene.produce(EVENTS)
    # A batch is committed, and Spark does not learn it.
    scene.run("t", "first", (2, "after"), limit=400)
    # Another checkpoint: the group's offsets are behind the table, with other boundaries. Only
    # Spark can open this one.
    found = scene.run("t", "second", limit=700, scheme="viewfs://local")
    expected = sorted(produced.offsets())
    assert places(found["rows"]) == expected
    # The first one is back with a plan that others have written long since.
    again = scene.run("t", "first", limit=400)
    assert places(again["rows"]) == expected

    spark_rows = {
        (r["partition"], r["offset"]): base64.b64decode(r["value"]) for r in again["rows"]
    }
    deltars_rows = {(r["partition"], r["offset"]): r["value"] for r in scene.by_delta_rs("t")}
    assert spark_rows == deltars_rows
    events = sorted(json.loads(value)["event"] for value in spark_rows.values())
    assert events == list(range(EVENTS))


@pytest.mark.long
def test_a_pipeline_moves_to_the_other_writer_and_back(scene: Scene) -> None:
    expected = set(scene.produce(EVENTS).offsets())
    # Killed on both sides of a commit: the group and the checkpoint are behind the table.
    scene.run("t", "first", (2, "after"), limit=400)
    scene.run("t", "second", (2, "after"), limit=300, through_spark=True)
    scene.run("t", "second", (1, "before"), limit=300, through_spark=True)
    found = scene.run("t", "third", limit=350)
    assert places(found["rows"]) == sorted(expected)
    expected |= set(scene.produce(EVENTS).offsets())
    # These checkpoints have plans from before the other writer.
    assert places(scene.run("t", "second", through_spark=True)["rows"]) == sorted(expected)
    expected |= set(scene.produce(EVENTS).offsets())
    scene.run("t", "first", limit=400)
    expected |= set(scene.produce(EVENTS).offsets())
    # One checkpoint, first through Spark, then by files of tasks.
    found = scene.run("t", "second", limit=400)
    assert places(found["rows"]) == sorted(expected)
    assert places(scene.by_delta_rs("t")) == sorted(expected)


ROUTES = {True: ("staged", "before", "after", "writing"), False: ("before", "after", "writing")}


@pytest.mark.long
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(4))
def test_kills_at_each_step_of_both_writers(scene: Scene, seed: int) -> None:
    """Both write to one table in turn, by two checkpoints that each of them uses."""
    chance = random.Random(seed)
    expected: set[tuple[str, int, int]] = set()
    steps = [(route, step) for route, names in ROUTES.items() for step in names]
    chance.shuffle(steps)
    for through_spark, step in steps:
        expected |= set(scene.produce(EVENTS // 3).offsets())
        checkpoint = chance.choice(("one", "two"))
        crash = (chance.randint(1, 2), step)
        limit = chance.choice((90, 150, 200))
        print(f"{checkpoint}, {through_spark=}: killed at {crash}, batches of {limit}")
        scene.run("t", checkpoint, crash, limit=limit, through_spark=through_spark)
        there = places(scene.by_delta_rs("t")) if scene.has("t") else []
        assert len(set(there)) == len(there)
        assert set(there) <= expected
    for checkpoint in ("one", "two"):
        last = scene.run("t", checkpoint, through_spark=chance.random() < 0.5)
    assert places(last["rows"]) == sorted(expected)


@needs_decoder
def test_typed_columns_and_partitions_of_a_field(scene: Scene) -> None:
    produced = scene.produce(EVENTS)
    given = {"schema": TYPED, "partition_by": ["day", "value.customer"]}
    found = scene.run("typed", "only", None, given, typed="json")
    assert places(found["rows"]) == sorted(produced.offsets())
    rows = {r["value"]["event"]: r for r in found["rows"]}
    others = {r["value"]["event"]: r for r in scene.by_delta_rs("typed")}
    assert sorted(rows) == sorted(others) == list(range(EVENTS))
    for event, row in rows.items():
        other = others[event]
        assert row["value"] == other["value"]
        assert row["customer"] == other["customer"] == row["value"]["customer"]
        assert row["day"] == other["day"].isoformat()
