"""What a fetch guarantees, with the broker in this process and with every kind of the sandbox."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition as ForeignTopicPartition

from pyspark_zkgroup.errors import FetchError, OffsetOutOfRangeError
from pyspark_zkgroup.kafka import offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import RawRecords, read_ranges
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.contract.fetching import (
    TIMEOUT_S,
    Servers,
    numbered,
    rows,
    settings_of,
    to_table,
    values,
)
from tests.harness.producing import produce, producer, wait_for_end
from zkgroup_sandbox import Sandbox


def test_ranges_are_read_exactly(servers: Servers, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 3)
    first, second, third = (TopicPartition(topic, n) for n in range(3))
    for tp in (first, second):
        produce(servers.bootstrap_servers, tp, values(1000))
    ranges = {
        first: OffsetRange(0, 1000),
        second: OffsetRange(333, 334),
        third: OffsetRange(0, 0),
    }
    assert rows(cluster, ranges) == {
        first: numbered(0, 1000),
        second: numbered(333, 334),
        third: [],
    }


def test_small_steps_take_turns_and_lose_nothing(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 4)
    partitions = [TopicPartition(topic, n) for n in range(4)]
    for tp in partitions:
        produce(servers.bootstrap_servers, tp, values(700), batch_size=1000)
    small = Cluster(settings_of(servers, fetch_bytes_max=3000, response_bytes_max=1))
    ranges = {tp: OffsetRange(tp.partition, 690) for tp in partitions}
    try:
        steps = list(read_ranges(small, ranges))
    finally:
        small.close()
    assert max(len(raw.data) for raw in steps) <= 3000
    assert {raw.partition for raw in steps[:8]} == set(partitions)
    for tp in partitions:
        table = to_table(iter([raw for raw in steps if raw.partition == tp]))
        assert table["offset"].to_pylist() == list(range(tp.partition, 690))


def test_a_record_larger_than_the_fetch_size_is_read(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1, {"max.message.bytes": "20000000"})
    tp = TopicPartition(topic, 0)
    large = b"x" * 2_500_000
    produce(servers.bootstrap_servers, tp, [b"before", large, b"after"], linger_ms=0)
    small = Cluster(settings_of(servers, fetch_bytes_max=1000, response_bytes_max=1000))
    try:
        found = rows(small, {tp: OffsetRange(0, 3)})
    finally:
        small.close()
    assert found == {tp: [(0, b"before"), (1, large), (2, b"after")]}


def test_a_batch_larger_than_what_is_taken_is_an_error_at_once(
    servers: Servers, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.create_topic(topic, 1, {"max.message.bytes": "20000000"})
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, [b"x" * 2_500_000])
    monkeypatch.setattr(FetchSettings, "record_batch_bytes_max", 1_000_000)
    cluster = Cluster(settings_of(servers))
    try:
        with pytest.raises(FetchError, match=r"fetch\.message\.max\.bytes"):
            rows(cluster, {tp: OffsetRange(0, 1)})
    finally:
        cluster.close()


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_what_brokers_compress_is_read(
    real_servers: Sandbox, cluster: Cluster, topic: str, codec: str
) -> None:
    """The broker compresses again what it receives, with the libraries of the JVM."""
    real_servers.create_topic(topic, 1, {"compression.type": codec})
    tp = TopicPartition(topic, 0)
    sent = [b"%d" % n + b" and again" * (n % 50) for n in range(1000)]
    produce(real_servers.bootstrap_servers, tp, sent, batch_size=100_000)
    assert rows(cluster, {tp: OffsetRange(10, 990)}) == {tp: list(enumerate(sent))[10:990]}


def test_append_time(real_servers: Sandbox, cluster: Cluster, topic: str) -> None:
    real_servers.create_topic(topic, 1, {"message.timestamp.type": "LogAppendTime"})
    tp = TopicPartition(topic, 0)
    produce(real_servers.bootstrap_servers, tp, values(3), timestamp_ms=1_000_000)
    table = to_table(read_ranges(cluster, {tp: OffsetRange(0, 3)}))
    assert table["timestampType"].to_pylist() == [1, 1, 1]
    assert min(table["timestamp"].cast(pa.int64()).to_pylist()) > 1_600_000_000_000_000


def test_a_range_may_end_at_the_marker_of_a_transaction(
    real_servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    real_servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    with producer(real_servers.bootstrap_servers, transactional_id=topic) as made:
        made.init_transactions()
        for outcome in (made.commit_transaction, made.abort_transaction):
            made.begin_transaction()
            for n in range(3):
                made.send(topic, b"%d" % n, partition=0)
            made.flush(timeout=TIMEOUT_S)
            outcome()
    wait_for_end(real_servers.bootstrap_servers, tp, 8)
    assert offsets.latest(cluster, [tp], timeout_s=TIMEOUT_S) == {tp: 8}
    found = rows(cluster, {tp: OffsetRange(0, 8)})[tp]
    assert [offset for offset, _ in found] == [0, 1, 2, 4, 5, 6]
    assert rows(cluster, {tp: OffsetRange(3, 4)}) == {tp: []}
    assert rows(cluster, {tp: OffsetRange(7, 8)}) == {tp: []}


# --- what cannot be read ---


def test_records_that_were_deleted_are_out_of_range(
    real_servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    real_servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(real_servers.bootstrap_servers, tp, values(100))
    admin = KafkaAdminClient(bootstrap_servers=real_servers.bootstrap_servers)
    admin.delete_records({ForeignTopicPartition(topic, 0): 40})
    admin.close()
    with pytest.raises(OffsetOutOfRangeError, match=r"Offset 10 of .*-0 .* \[40, 100\)") as caught:
        rows(cluster, {tp: OffsetRange(10, 90)})
    error = caught.value
    assert (error.topic, error.partition, error.offset) == (topic, 0, 10)
    assert rows(cluster, {tp: OffsetRange(40, 100)}) == {tp: numbered(40, 100)}


@pytest.mark.parametrize("start", [0, 5, 10, 15])
def test_a_log_that_ends_too_early_is_distinguished(
    servers: Servers, topic: str, start: int
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(10))
    cluster = Cluster(settings_of(servers, deadline_s=0.5, fetch_wait_max_ms=100))
    found: list[RawRecords] = []
    try:
        with pytest.raises(FetchError, match=r"its log ends at 10, for 0.5 s") as caught:
            found.extend(read_ranges(cluster, {tp: OffsetRange(start, 20)}))
    finally:
        cluster.close()
    assert not isinstance(caught.value, OffsetOutOfRangeError)
    assert (caught.value.topic, caught.value.partition) == (topic, 0)
    assert caught.value.offset == max(start, 10)


def test_records_that_come_late_are_waited_for(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    bootstrap = servers.bootstrap_servers
    produce(bootstrap, tp, values(5))
    reading = read_ranges(cluster, {tp: OffsetRange(0, 10)})
    early = next(reading)
    assert early.wanted == OffsetRange(0, 5)
    late = threading.Thread(target=produce, args=(bootstrap, tp, values(5)))
    late.start()
    wanted = [raw.wanted for raw in reading]
    late.join()
    assert (wanted[0].start, wanted[-1].until) == (5, 10)


def test_a_topic_that_is_gone_is_named(servers: Servers, topic: str) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(10), batch_size=0)
    cluster = Cluster(settings_of(servers, deadline_s=0.5, fetch_bytes_max=1))
    try:
        reading = read_ranges(cluster, {tp: OffsetRange(0, 10)})
        next(reading)
        servers.delete_topic(topic)
        with pytest.raises(FetchError, match=f"Cannot read {topic}-0 .*no such topic"):
            list(reading)
    finally:
        cluster.close()


def test_time_the_reader_takes_is_not_the_brokers_delay(servers: Servers, topic: str) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(4), batch_size=0)
    clock = Standing()
    cluster = Cluster(settings_of(servers, fetch_bytes_max=1), clock=clock)
    try:
        found = []
        for raw in read_ranges(cluster, {tp: OffsetRange(0, 4)}):
            found.append(raw.wanted)
            clock.now += 1000
    finally:
        cluster.close()
    assert found == [OffsetRange(n, n + 1) for n in range(4)]


class Standing:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
