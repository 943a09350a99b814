"""Streams of which Spark makes more than one source and one sink: two sources in one query,
progress that is logged behind the query's back.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet
import pytest
from kazoo.client import KazooClient

from tests.spark.peer import Peer, Sent
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

PARTITIONS = 2


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    made = Peer(tmp_path_factory.mktemp("peer"))
    yield made
    made.close()


class Scene:
    def __init__(self, sandbox: Sandbox, peer: Peer, directory: Path) -> None:
        self.sandbox, self.peer = sandbox, peer
        self.group = f"g{uuid.uuid4().hex[:8]}"
        self.checkpoint = directory / "checkpoint"
        self.into = directory / "rows"
        self.sent: Counter[str] = Counter()

    def topic(self, name: str) -> str:
        topic = f"{self.group}-{name}"
        self.sandbox.create_topic(topic, PARTITIONS)
        return topic

    def produce(self, topic: str, count: int) -> None:
        """So many records to each partition."""
        records = []
        for partition in range(PARTITIONS):
            for _ in range(count):
                value = f"{topic}:{partition}:{self.sent[topic]}"
                self.sent[topic] += 1
                records.append(Sent(topic, partition, None, value.encode()))
        self.peer.produce(self.sandbox.bootstrap_servers, records)

    def source(self, topic: str, **more: str) -> dict[str, str]:
        return {
            "zookeeper.connect": self.sandbox.kafka_zookeeper_connect,
            "group.id": self.group,
            "subscribe": topic,
            "threads": "1",
            "startingOffsets": "earliest",
            **more,
        }

    @property
    def files(self) -> dict[str, str]:
        return {"format": "parquet", "path": str(self.into)}

    def rows(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = pyarrow.parquet.read_table(self.into).to_pylist()
        return found

    def values(self) -> Counter[str]:
        values = [row["value"] for row in self.rows()]
        assert all(isinstance(value, bytes) for value in values)
        return Counter(value.decode() for value in values if isinstance(value, bytes))

    def all_sent(self, *topics: str) -> int:
        return sum(self.sent[topic] for topic in topics)

    def logged(self) -> list[list[str]]:
        """The sources' offsets of each batch, as they stand in the checkpoint."""
        paths = sorted((self.checkpoint / "offsets").glob("[0-9]*"), key=lambda p: int(p.name))
        return [path.read_text().splitlines()[2:] for path in paths]

    def committed(self, topic: str) -> dict[int, int]:
        client = KazooClient(self.sandbox.kafka_zookeeper_connect)
        client.start()
        try:
            path = f"/consumers/{self.group}/offsets/{topic}"
            return {int(n): int(client.get(f"{path}/{n}")[0]) for n in client.get_children(path)}
        finally:
            client.stop()
            client.close()


@pytest.fixture
def scene(sandbox: Sandbox, peer: Peer, tmp_path: Path) -> Scene:
    return Scene(sandbox, peer, tmp_path)


def test_two_sources_of_one_group_of_which_one_has_nothing(scene: Scene) -> None:
    """First for several batches, then, after a restart, the other one."""
    full, empty = scene.topic("full"), scene.topic("empty")
    sources = [scene.source(topic, maxOffsetsPerTrigger="20") for topic in (full, empty)]
    scene.produce(full, 30)
    scene.peer.stream(*sources, sink=scene.files, checkpoint=scene.checkpoint, availableNow=True)
    assert len(scene.logged()) == 3
    assert scene.values().total() == len(scene.values()) == scene.all_sent(full)
    scene.produce(empty, 15)
    scene.peer.stream(*sources, sink=scene.files, checkpoint=scene.checkpoint, availableNow=True)
    assert len(scene.logged()) == 5
    assert scene.values().total() == len(scene.values()) == scene.all_sent(full, empty)
    assert all(len(offsets) == 2 for offsets in scene.logged())
    assert scene.committed(full) == dict.fromkeys(range(PARTITIONS), 30)
    assert scene.committed(empty) == dict.fromkeys(range(PARTITIONS), 15)


def test_progress_that_is_tracked_asynchronously(scene: Scene) -> None:
    """Spark allows it for few sinks, and logs batches some time after it has run them."""
    topic, into = scene.topic("from"), scene.topic("into")
    source = scene.source(topic, maxOffsetsPerTrigger="10")
    tracking = {
        "asyncProgressTrackingEnabled": "true",
        "asyncProgressTrackingCheckpointIntervalMs": "3600000",
    }
    sink = {
        "format": "kafka",
        "kafka.bootstrap.servers": scene.sandbox.bootstrap_servers,
        "topic": into,
        **tracking,
    }
    for _ in range(2):
        scene.produce(topic, 20)
        scene.peer.stream(
            source, sink=sink, checkpoint=scene.checkpoint, processingTime="0 seconds"
        )
    found = scene.peer.read_batch(
        "kafka",
        {"kafka.bootstrap.servers": scene.sandbox.bootstrap_servers, "subscribe": into},
        "written",
    )
    values = Counter(row["value"].decode() for row in found.rows)
    logged = len(scene.logged())
    print(f"{values.total()} rows of {len(values)} records; {logged} batches in Spark's log")
    assert len(values) == scene.all_sent(topic), "a record is missing"
    # What the sink had got was known to the group before Spark had logged it. A bare stop leaves
    # the last batch of a run to be read again, as without asynchronous tracking.
    assert values.total() <= scene.all_sent(topic) + 2 * 10
    with pytest.raises(AssertionError, match="async progress tracking"):
        scene.peer.stream(
            source,
            sink={**scene.files, **tracking},
            checkpoint=scene.checkpoint.with_name("another"),
            processingTime="0 seconds",
        )


@pytest.mark.parametrize(
    ("trigger", "said"),
    [({"continuous": "1 second"}, "continuous"), ({"realTime": "5 minutes"}, "real-?time")],
    ids=["continuous", "real-time"],
)
def test_modes_that_spark_does_not_have_for_python_sources(
    scene: Scene, trigger: dict[str, str], said: str
) -> None:
    source = scene.source(scene.topic("mode"))
    with pytest.raises(AssertionError, match=f"(?i){said}"):
        scene.peer.stream(source, sink={"format": "noop"}, checkpoint=scene.checkpoint, **trigger)
