"""Every row of ours is the row that Spark's own Kafka source makes of the same record."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.producing import wait_for_end
from tests.harness.waiting import wait_until
from tests.spark.peer import Peer, Read, Sent, differences
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ISOLATIONS = (pytest.param("read_uncommitted", marks=pytest.mark.long), "read_committed")
BYTES = (None, b"", b"\x00", b"plain", "größer als ASCII: ☃ 🦄".encode(), bytes(range(256)) * 8)
HEADERS: tuple[tuple[tuple[str, bytes | None], ...], ...] = (
    (),
    (("one", b"1"),),
    (("null", None), ("empty", b""), ("", b"no name")),
    (("twice", b"1"), ("twice", b"2"), ("twice", None)),
    (("größe ☃ 🦄", "wert ☃".encode()), ("bytes", bytes(range(256)))),
)
T0_MS = 1_700_000_000_123
COMPACTION_DEADLINE_S = 120.0
# Between two of them nothing is left of a compacted log but what is newest.
KEYS = 20


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Peer]:
    made = Peer(tmp_path_factory.mktemp("peer"))
    yield made
    made.close()


@dataclass(frozen=True)
class Topic:
    """One topic, filled by Kafka's own producer and read by both sources."""

    name: str
    sandbox: Sandbox
    peer: Peer

    def mixture(self, partition: int, count: int, first: int = 0) -> list[Sent]:
        """Keys, values and headers of every kind, in every combination once it is long enough."""
        return [
            Sent(
                self.name,
                partition,
                BYTES[n % len(BYTES)],
                BYTES[n // len(BYTES) % len(BYTES)],
                HEADERS[n % len(HEADERS)],
                # Neither ascending nor always the producer's own.
                T0_MS + 1_000 * (n * 37 % 100) if n % 3 else None,
            )
            for n in range(first, first + count)
        ]

    def produce(self, records: list[Sent], codec: str, end: str = "", **more: str) -> int:
        if end:
            more["transactional_id"] = f"t-{uuid.uuid4().hex[:8]}"
            more["transaction_timeout_ms"] = "600000"
        return self.peer.produce(
            self.sandbox.bootstrap_servers, records, end=end, compression_type=codec, **more
        )

    def read_by_both(self, isolation: str, limit: int | None = None) -> tuple[Read, Read]:
        common = {
            "subscribe": self.name,
            "startingOffsets": "earliest",
            "includeHeaders": "true",
            # The other one is what both do when they are not told.
            **({"kafka.isolation.level": isolation} if isolation == "read_committed" else {}),
            **({} if limit is None else {"maxOffsetsPerTrigger": str(limit)}),
        }
        run = uuid.uuid4().hex[:8]
        group = {
            "zookeeper.connect": self.sandbox.kafka_zookeeper_connect,
            "group.id": f"g{run}",
            "threads": "2",
        }
        servers = {"kafka.bootstrap.servers": self.sandbox.bootstrap_servers}
        theirs = self.peer.read("kafka", {**common, **servers}, f"kafka-{run}")
        ours = self.peer.read("zkgroup", {**common, **group}, f"zkgroup-{run}")
        return ours, theirs

    def assert_equal(self, isolation: str, limit: int | None = None) -> Read:
        ours, theirs = self.read_by_both(isolation, limit)
        found = list(differences(ours, theirs))
        print(
            f"{self.name}, {isolation}: {len(ours.rows)} rows of ours in {ours.batches} batches, "
            f"{len(theirs.rows)} of Spark's Kafka source in {theirs.batches}, "
            f"{len(found)} differences"
        )
        assert found == [], "\n".join(found[:20])
        return ours


NewTopic = Callable[..., Topic]


@pytest.fixture
def new_topic(sandbox: Sandbox, peer: Peer) -> NewTopic:
    def make(partitions: int, config: Mapping[str, str] | None = None) -> Topic:
        name = f"rows-{uuid.uuid4().hex[:8]}"
        sandbox.create_topic(name, partitions, config)
        return Topic(name, sandbox, peer)

    return make


def test_all_codecs_nulls_and_headers_with_the_producers_time(new_topic: NewTopic) -> None:
    topic = new_topic(2)
    for round_ in range(2):
        for codec in CODECS:
            for partition in range(2):
                topic.produce(topic.mixture(partition, 60, first=round_ * 60), codec)
    read = topic.assert_equal("read_uncommitted", limit=500)
    assert len(read.rows) == 2 * 2 * 60 * len(CODECS)
    assert {row["timestampType"] for row in read.rows} == {0}
    # Without these the topic would not have held what this test is about.
    assert {row["key"] for row in read.rows} == set(BYTES) == {row["value"] for row in read.rows}
    assert {None if row["headers"] is None else len(row["headers"]) for row in read.rows} == {
        *(len(headers) or None for headers in HEADERS)
    }


def test_a_topic_with_the_brokers_time(new_topic: NewTopic) -> None:
    topic = new_topic(1, {"message.timestamp.type": "LogAppendTime"})
    for codec in CODECS:
        topic.produce(topic.mixture(0, 30), codec)
    read = topic.assert_equal("read_uncommitted")
    assert len(read.rows) == 30 * len(CODECS)
    assert {row["timestampType"] for row in read.rows} == {1}


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_transactions_committed_aborted_and_still_open(new_topic: NewTopic, isolation: str) -> None:
    topic = new_topic(2)
    committed = aborted = 0
    for n, codec in enumerate(CODECS * 2):
        for partition in range(2):
            end = "abort" if (n + partition) % 2 else "commit"
            topic.produce(topic.mixture(partition, 20, first=20 * n), codec, end)
            committed += 20 * (end == "commit")
            aborted += 20 * (end == "abort")
            topic.produce(topic.mixture(partition, 5), codec)  # no transaction
            committed += 5
    log_end = (20 + 1 + 5) * 2 * len(CODECS)  # with a marker for each transaction
    for n in range(2):
        wait_for_end(topic.sandbox.bootstrap_servers, TopicPartition(topic.name, n), log_end)
    # One that stays open, with committed records after it that are not visible yet.
    topic.produce(topic.mixture(0, 10), "lz4", "open")
    topic.produce(topic.mixture(0, 10), "zstd", "commit")
    try:
        # Batches that end within a transaction, on a marker, and among records that do not count.
        read = topic.assert_equal(isolation, limit=100)
    finally:
        topic.peer.abort_open()
    expected = committed + (aborted + 20) * (isolation == "read_uncommitted")
    assert len(read.rows) == expected


@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_a_log_that_the_broker_has_compacted(new_topic: NewTopic, isolation: str) -> None:
    topic = new_topic(
        1,
        {
            "cleanup.policy": "compact",
            "segment.bytes": "16384",
            "min.cleanable.dirty.ratio": "0.001",
            "delete.retention.ms": "3600000",
        },
    )
    produced = 0
    for n, codec in enumerate(CODECS * 2):
        end = ("commit", "abort", "")[n % 3]
        records = [
            replace(record, key=b"%d" % (n * 7 % KEYS), value=record.value and bytes(300))
            for n, record in enumerate(topic.mixture(0, 120, first=120 * n))
        ]
        last = topic.produce(records, codec, end, batch_size="2000")
        produced += 120
    # All but the newest segment, so that nothing goes between one source's reading and the other's.
    compacted_to = wait_until(
        lambda: cleaned(topic) == newest_segment(topic) > last // 2 and cleaned(topic),
        COMPACTION_DEADLINE_S,
        "the broker to compact",
    )
    read = topic.assert_equal(isolation, limit=90)
    print(f"compacted up to offset {compacted_to} of {last}: {len(read.rows)} of {produced} left")
    assert len(read.rows) < produced // 2


def cleaned(topic: Topic) -> int:
    """Up to which offset the broker has compacted partition 0, by its own file."""
    for checkpoint in (topic.sandbox.directory / "data").rglob("cleaner-offset-checkpoint"):
        for line in checkpoint.read_text().splitlines():
            name, _, rest = line.partition(" ")
            if name == topic.name and rest.startswith("0 "):
                return int(rest.split()[1])
    return 0


def newest_segment(topic: Topic) -> int:
    """The first offset of the segment that is still written to."""
    logs = (topic.sandbox.directory / "data").rglob(f"{topic.name}-0/*.log")
    return max(int(log.stem) for log in logs)


ROW: dict[str, Any] = {
    "key": None,
    "value": b"",
    "topic": "t",
    "partition": 0,
    "offset": 7,
    "timestamp": datetime(2026, 1, 1, tzinfo=timezone.utc),
    "timestampType": 0,
    "headers": [{"key": "a", "value": None}],
}


@pytest.mark.parametrize(
    "change",
    [
        {"key": b""},
        {"value": None},
        {"timestampType": 1},
        {"timestamp": datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=timezone.utc)},
        {"headers": [{"key": "a", "value": b""}]},
        {"headers": None},
        {"headers": []},
        {"offset": 8},
        {"topic": "T"},
    ],
)
def test_the_comparison_sees_it(change: dict[str, Any]) -> None:
    theirs = Read("s", [ROW], 1)
    assert list(differences(Read("s", [dict(ROW)], 1), theirs)) == []
    assert list(differences(Read("s", [{**ROW, **change}], 1), theirs))


def test_the_comparison_sees_rows_that_are_missing_or_twice_and_another_schema() -> None:
    theirs = Read("s", [ROW], 1)
    for ours in (Read("s", [], 1), Read("s", [ROW, ROW], 1), Read("t", [ROW], 1)):
        assert list(differences(ours, theirs))
