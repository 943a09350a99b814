"""What a fetch promises, on every kind of broker the sandbox can start."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from kafka import KafkaAdminClient
from kafka.structs import TopicPartition as ForeignTopicPartition

from pyspark_zkgroup.errors import FetchError, OffsetOutOfRangeError
from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import RawRecords, read_ranges
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.wire import EARLIEST_LOCAL, LATEST
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.sandbox import Sandbox
from pyspark_zkgroup.schema import arrow_schema
from tests.producing import produce, producer

TIMEOUT_S = 10.0
LIMITS = Limits(rows_max=10_000, bytes_max=1 << 24, unpacked_bytes_max=1 << 26)


@pytest.fixture(params=["sandbox", "sandbox_41"])
def servers(request: pytest.FixtureRequest) -> Sandbox:
    found: Sandbox = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def topic() -> str:
    return f"fetch-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def cluster(servers: Sandbox) -> Iterator[Cluster]:
    made = Cluster(settings_of(servers))
    yield made
    made.close()


def settings_of(servers: Sandbox, **settings: Any) -> FetchSettings:
    bootstrap = tuple(servers.bootstrap_servers.split(","))
    return FetchSettings(bootstrap, **{"deadline_s": TIMEOUT_S, **settings})


def rows(cluster: Cluster, ranges: dict[TopicPartition, OffsetRange]) -> dict[TopicPartition, Any]:
    """(offset, value) of every row, in order, per partition."""
    table = to_table(read_ranges(cluster, ranges))
    columns = [table[name].to_pylist() for name in ("topic", "partition", "offset", "value")]
    found: dict[TopicPartition, Any] = {tp: [] for tp in ranges}
    for name, partition, offset, value in zip(*columns):
        found[TopicPartition(name, partition)].append((offset, value))
    return found


def to_table(raw: Iterator[RawRecords]) -> pa.Table:
    decoder = ReferenceDecoder(LIMITS)
    batches = [b for r in raw for b in decoder.feed(r.partition, r.wanted, r.data)]
    return pa.Table.from_batches([*batches, *decoder.finish()], arrow_schema())


def numbered(first: int, until: int) -> list[tuple[int, bytes]]:
    return [(n, b"%d" % n) for n in range(first, until)]


def values(count: int) -> Sequence[bytes]:
    return [b"%d" % n for n in range(count)]


# --- metadata and offsets ---


def test_partitions_leaders_and_the_cluster(servers: Sandbox, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 3)
    answer = metadata.read(cluster, [topic, "not-there"], timeout_s=TIMEOUT_S)
    assert answer.topics[topic].partitions == (0, 1, 2)
    assert set(answer.topics[topic].leaders) == {0, 1, 2}
    assert not answer.topics[topic].internal
    assert answer.missing["not-there"].unknown_topic
    assert set(answer.topics[topic].leaders.values()) <= set(answer.brokers)
    assert sorted(answer.brokers.values()) == sorted(servers.bootstrap_servers.split(","))
    assert answer.cluster_id


def test_all_topics_or_those_given(servers: Sandbox, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 2)
    servers.create_topic(f"{topic}-b", 1)
    named = metadata.topics(cluster, [topic, "not-there"], timeout_s=TIMEOUT_S)
    assert named == {topic: (0, 1)}
    everything = metadata.topics(cluster, timeout_s=TIMEOUT_S)
    assert everything[topic] == (0, 1)
    assert everything[f"{topic}-b"] == (0,)
    assert metadata.topics(cluster, [], timeout_s=TIMEOUT_S) == {}


def test_asking_for_a_topic_does_not_make_it(cluster: Cluster, topic: str) -> None:
    metadata.topics(cluster, [topic], timeout_s=TIMEOUT_S)
    assert topic not in metadata.topics(cluster, timeout_s=TIMEOUT_S)


def test_ends_of_many_logs_cost_one_request(servers: Sandbox, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 20)
    partitions = [TopicPartition(topic, n) for n in range(20)]
    produce(servers.bootstrap_servers, partitions[7], values(5))
    assert offsets.latest(cluster, partitions, timeout_s=TIMEOUT_S) == {
        tp: 5 if tp.partition == 7 else 0 for tp in partitions
    }
    before = cluster.requests
    offsets.latest(cluster, partitions, timeout_s=TIMEOUT_S)
    assert cluster.requests == before + 1
    assert set(offsets.earliest(cluster, partitions, timeout_s=TIMEOUT_S).values()) == {0}


def test_a_partition_that_is_not_there_has_no_offset(
    servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    wanted = [TopicPartition(topic, 0), TopicPartition(topic, 1), TopicPartition("not-there", 0)]
    found = offsets.look_up(cluster, wanted, LATEST, timeout_s=TIMEOUT_S)
    assert found.found == {wanted[0]: 0}
    assert found.missing == {
        wanted[1]: offsets.Missing("its topic has 1 partitions", lasting=True),
        wanted[2]: offsets.Missing("the brokers know no such topic", lasting=True),
    }


def test_a_question_the_broker_does_not_know_is_not_asked_twice(
    servers: Sandbox, topic: str
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    cluster = Cluster(settings_of(servers), broker_version=(2, 0))
    try:
        found = offsets.look_up(cluster, [tp], EARLIEST_LOCAL, timeout_s=TIMEOUT_S)
        assert found.missing[tp].lasting
        assert "IncompatibleBrokerVersion" in found.missing[tp].reason
    finally:
        cluster.close()


def test_where_the_log_begins_on_the_broker_itself(
    servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(3))
    assert offsets.look_up(cluster, [tp], EARLIEST_LOCAL, timeout_s=TIMEOUT_S).found == {tp: 0}


# --- ranges ---


def test_ranges_are_read_exactly(servers: Sandbox, cluster: Cluster, topic: str) -> None:
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
    servers: Sandbox, cluster: Cluster, topic: str
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
    servers: Sandbox, cluster: Cluster, topic: str
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
    servers: Sandbox, topic: str, monkeypatch: pytest.MonkeyPatch
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
    servers: Sandbox, cluster: Cluster, topic: str, codec: str
) -> None:
    """The broker packs anew what it is sent, with the libraries of the JVM."""
    servers.create_topic(topic, 1, {"compression.type": codec})
    tp = TopicPartition(topic, 0)
    sent = [b"%d" % n + b" and again" * (n % 50) for n in range(1000)]
    produce(servers.bootstrap_servers, tp, sent, batch_size=100_000)
    assert rows(cluster, {tp: OffsetRange(10, 990)}) == {tp: list(enumerate(sent))[10:990]}


def test_append_time(servers: Sandbox, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 1, {"message.timestamp.type": "LogAppendTime"})
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(3), timestamp_ms=1_000_000)
    table = to_table(read_ranges(cluster, {tp: OffsetRange(0, 3)}))
    assert table["timestampType"].to_pylist() == [1, 1, 1]
    assert min(table["timestamp"].cast(pa.int64()).to_pylist()) > 1_600_000_000_000_000


def test_a_range_may_end_at_the_marker_of_a_transaction(
    servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    with producer(servers.bootstrap_servers, transactional_id=topic) as made:
        made.init_transactions()
        for outcome in (made.commit_transaction, made.abort_transaction):
            made.begin_transaction()
            for n in range(3):
                made.send(topic, b"%d" % n, partition=0)
            made.flush(timeout=TIMEOUT_S)
            outcome()
    end = offsets.latest(cluster, [tp], timeout_s=TIMEOUT_S)[tp]
    assert end == 8
    found = rows(cluster, {tp: OffsetRange(0, end)})[tp]
    assert [offset for offset, _ in found] == [0, 1, 2, 4, 5, 6]
    assert rows(cluster, {tp: OffsetRange(3, 4)}) == {tp: []}
    assert rows(cluster, {tp: OffsetRange(7, 8)}) == {tp: []}


# --- what cannot be read ---


def test_records_that_were_deleted_are_out_of_range(
    servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(100))
    admin = KafkaAdminClient(bootstrap_servers=servers.bootstrap_servers)
    admin.delete_records({ForeignTopicPartition(topic, 0): 40})
    admin.close()
    with pytest.raises(OffsetOutOfRangeError, match=r"Offset 10 of .*-0 .* \[40, 100\)") as caught:
        rows(cluster, {tp: OffsetRange(10, 90)})
    error = caught.value
    assert (error.topic, error.partition, error.offset) == (topic, 0, 10)
    assert rows(cluster, {tp: OffsetRange(40, 100)}) == {tp: numbered(40, 100)}


@pytest.mark.parametrize("start", [0, 5, 10, 15])
def test_a_log_that_ends_too_early_is_told_apart(servers: Sandbox, topic: str, start: int) -> None:
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
    servers: Sandbox, cluster: Cluster, topic: str
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


def test_a_topic_that_is_gone_is_named(servers: Sandbox, topic: str) -> None:
    servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(servers.bootstrap_servers, tp, values(10), batch_size=0)
    cluster = Cluster(settings_of(servers, deadline_s=0.5, fetch_bytes_max=1))
    try:
        reading = read_ranges(cluster, {tp: OffsetRange(0, 10)})
        next(reading)
        servers.delete_topic(topic)
        with pytest.raises(FetchError, match=f"{topic}-0 cannot be read .*no such topic"):
            list(reading)
    finally:
        cluster.close()


def test_time_the_reader_takes_is_not_the_brokers_delay(servers: Sandbox, topic: str) -> None:
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


# --- old protocols ---


@pytest.mark.parametrize("version", [(0, 11), (1, 0), (2, 0), (2, 5), (3, 0)])
def test_requests_of_older_brokers(servers: Sandbox, topic: str, version: tuple[int, ...]) -> None:
    servers.create_topic(topic, 2)
    tp = TopicPartition(topic, 1)
    produce(servers.bootstrap_servers, tp, values(50))
    cluster = Cluster(settings_of(servers), broker_version=version)
    try:
        assert metadata.topics(cluster, [topic], timeout_s=TIMEOUT_S) == {topic: (0, 1)}
        assert offsets.latest(cluster, [tp], timeout_s=TIMEOUT_S) == {tp: 50}
        assert rows(cluster, {tp: OffsetRange(5, 50)}) == {tp: numbered(5, 50)}
    finally:
        cluster.close()


@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4"])
@pytest.mark.parametrize(("version", "kind"), [((0, 10, 1), 0), ((0, 9), -1)])
def test_message_sets_of_older_brokers(
    sandbox: Sandbox, topic: str, codec: str, version: tuple[int, ...], kind: int
) -> None:
    """Asked in the words of that time, a 3.9 broker turns batches into the old message sets."""
    sandbox.create_topic(topic, 1, {"compression.type": codec})
    tp = TopicPartition(topic, 0)
    sent = [b"%d" % n * 20 for n in range(500)]
    produce(sandbox.bootstrap_servers, tp, sent, timestamp_ms=1_600_000_000_123)
    cluster = Cluster(settings_of(sandbox), broker_version=version)
    try:
        table = to_table(read_ranges(cluster, {tp: OffsetRange(7, 490)}))
    finally:
        cluster.close()
    assert table["offset"].to_pylist() == list(range(7, 490))
    assert table["value"].to_pylist() == sent[7:490]
    assert set(table["timestampType"].to_pylist()) == {kind}
    expected_us = 1_600_000_000_123_000 if kind == 0 else -1000
    assert set(table["timestamp"].cast(pa.int64()).to_pylist()) == {expected_us}
