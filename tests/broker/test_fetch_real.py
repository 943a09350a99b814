"""Fetches while brokers die, stall, move and clean up.

The daily tests hurt one broker in turn, which each of them leaves alive; the long ones have servers
of their own.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kafka.protocol.admin import AlterClientQuotasRequest

from pyspark_zkgroup.errors import FetchError, ServerError
from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import RawRecords, read_ranges
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.wire import LATEST
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.tasks import reading as task
from tests.harness.producing import produce, producer
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

NewSandbox = Callable[..., Sandbox]
COUNT = 1000

# kafka-python leaves a socket that did not get its connection to the garbage collector.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:unclosed <socket\.socket .*laddr=\('0\.0\.0\.0', \d+\)>:ResourceWarning"
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    hurt = Sandbox(tmp_path_factory.mktemp("hurt"))
    try:
        yield hurt.start()
    finally:
        hurt.kill()


@pytest.fixture
def tp() -> TopicPartition:
    return TopicPartition(f"events-{uuid.uuid4().hex[:8]}", 0)


def settings_of(servers: Sandbox, **settings: Any) -> FetchSettings:
    bootstrap = tuple(servers.bootstrap_servers.split(","))
    return FetchSettings(bootstrap, **{"deadline_s": 60.0, **settings})


@contextmanager
def connected(servers: Sandbox, **settings: Any) -> Iterator[Cluster]:
    cluster = Cluster(settings_of(servers, **settings))
    try:
        yield cluster
    finally:
        cluster.close()


def read_offsets(raw: Iterator[RawRecords]) -> list[int]:
    limits = Limits(rows_max=10_000, bytes_max=1 << 24, unpacked_bytes_max=1 << 26)
    decoder = ReferenceDecoder(limits)
    found = [b for r in raw for b in decoder.feed(r.partition, r.wanted, r.data, r.aborted)]
    return [n for b in (*found, *decoder.finish()) for n in b["offset"].to_pylist()]


def fill(servers: Sandbox, tp: TopicPartition, *, replication: int = 1) -> None:
    """Many small batches, so that a fetch takes many steps."""
    servers.create_topic(tp.topic, 1, replication=replication)
    produce(servers.bootstrap_servers, tp, [b"%d" % n for n in range(COUNT)], batch_size=500)


def in_background(act: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=act)
    thread.start()
    return thread


def test_a_broker_that_restarts_in_the_middle_of_a_range(
    servers: Sandbox, tp: TopicPartition
) -> None:
    fill(servers, tp)
    (broker,) = servers.brokers
    with connected(servers, fetch_bytes_max=600) as cluster:
        reading = read_ranges(cluster, {tp: OffsetRange(0, COUNT)})
        first = next(reading)
        broker.kill()
        back = in_background(broker.start)
        found = read_offsets(iter([first, *reading]))
        back.join()
        assert found == list(range(COUNT))


@pytest.mark.long
def test_a_broker_that_restarted_between_two_tasks(servers: Sandbox, tp: TopicPartition) -> None:
    fill(servers, tp)
    given = TaskInput("member-0", (TaskRange(tp, OffsetRange(0, COUNT)),))
    settings = settings_of(servers)
    assert sum(b.num_rows for b in task.read(given, settings)) == COUNT
    servers.brokers[0].restart()
    assert sum(b.num_rows for b in task.read(given, settings)) == COUNT


def test_a_broker_that_stalls_and_resumes(servers: Sandbox, tp: TopicPartition) -> None:
    fill(servers, tp)
    (broker,) = servers.brokers
    with connected(
        servers, fetch_bytes_max=600, request_timeout_ms=500, fetch_wait_max_ms=100
    ) as cluster:
        reading = read_ranges(cluster, {tp: OffsetRange(0, COUNT)})
        first = next(reading)
        broker.pause()
        asked = cluster.requests

        def goes_on() -> None:
            # Two requests fail, then it answers again.
            wait_until(lambda: cluster.requests >= asked + 2, 30, "two failed requests")
            broker.resume()

        back = in_background(goes_on)
        found = read_offsets(iter([first, *reading]))
        back.join()
        assert found == list(range(COUNT))


def test_a_broker_that_stays_silent_is_an_error_that_names_it(
    servers: Sandbox, tp: TopicPartition
) -> None:
    fill(servers, tp)
    impatient = {"deadline_s": 1.0, "request_timeout_ms": 300, "fetch_wait_max_ms": 100}
    with connected(servers, fetch_bytes_max=600, **impatient) as cluster:
        reading = read_ranges(cluster, {tp: OffsetRange(0, COUNT)})
        next(reading)
        servers.brokers[0].pause()
        try:
            with pytest.raises((ServerError, FetchError), match=servers.bootstrap_servers):
                list(reading)
        finally:
            servers.brokers[0].resume()


@pytest.mark.long
def test_throttling_delays_and_loses_nothing(
    servers: Sandbox, tp: TopicPartition, caplog: pytest.LogCaptureFixture
) -> None:
    servers.create_topic(tp.topic, 1)
    produce(servers.bootstrap_servers, tp, [b"x" * 1000 for _ in range(24)], batch_size=0)
    with connected(servers, client_id="slow", fetch_bytes_max=1000) as cluster:
        cluster.ask(quota_request("slow", bytes_per_second=2000), timeout_s=10)
        assert read_offsets(read_ranges(cluster, {tp: OffsetRange(0, 24)})) == list(range(24))
    assert "FetchResponse throttled by broker" in caplog.text


def quota_request(client_id: str, *, bytes_per_second: float) -> Callable[[], Any]:
    entry = AlterClientQuotasRequest.EntryData
    return lambda: AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="client-id", entity_name=client_id)],
                ops=[entry.OpData(key="consumer_byte_rate", value=bytes_per_second, remove=False)],
            )
        ],
        validate_only=False,
    )


@pytest.mark.long
def test_a_leader_that_moves_in_the_middle_of_a_range(
    new_sandbox: NewSandbox, tp: TopicPartition
) -> None:
    servers = new_sandbox(brokers=2)
    fill(servers, tp, replication=2)
    with connected(servers, fetch_bytes_max=600) as cluster:
        reading = read_ranges(cluster, {tp: OffsetRange(0, COUNT)})
        first = next(reading)
        leader = metadata.read(cluster, [tp.topic], timeout_s=5).topics[tp.topic].leaders[0]
        next(b for b in servers.brokers if b.number == leader).kill()
        assert read_offsets(iter([first, *reading])) == list(range(COUNT))
        assert cluster.leaders[tp].node != leader


@pytest.mark.long
def test_ends_of_logs_while_one_leader_is_away(new_sandbox: NewSandbox) -> None:
    servers = new_sandbox(brokers=2)
    servers.create_topic("spread", 2)
    partitions = [TopicPartition("spread", n) for n in range(2)]
    with connected(servers) as cluster:
        assert len(offsets.latest(cluster, partitions, timeout_s=10)) == 2
        lost = servers.brokers[1]
        away = [tp for tp in partitions if cluster.leaders[tp].node == lost.number]
        lost.pause()
        found = offsets.look_up(cluster, partitions, LATEST, timeout_s=2)
        assert set(found.missing) == set(away)
        assert set(found.found) == set(partitions) - set(away)
        lost.resume()
        wait_until(
            lambda: len(offsets.latest(cluster, partitions, timeout_s=10)) == 2, 60, "both leaders"
        )


@pytest.mark.long
def test_a_range_whose_tail_was_compacted_away(new_sandbox: NewSandbox, tp: TopicPartition) -> None:
    """Only deletions can leave nothing at the end of a log: the newest value of a key always stays.
    A first segment holds values, a second one their deletions, and a third is open and empty."""
    servers = new_sandbox()
    config = {
        "cleanup.policy": "compact",
        "segment.ms": "500",
        "min.cleanable.dirty.ratio": "0.001",
        "delete.retention.ms": "0",
        "min.compaction.lag.ms": "0",
    }
    servers.create_topic(tp.topic, 1, config)
    keys: list[bytes | None] = [b"a", b"b", b"c"]
    produce(servers.bootstrap_servers, tp, [b"1", b"2", b"3"], keys=keys)
    produce(servers.bootstrap_servers, tp, [None, None, None], keys=keys)
    with connected(servers) as cluster:

        def is_gone() -> bool:
            # The open segment is never cleaned: a record of another key closes it.
            produce(servers.bootstrap_servers, tp, [b"x"], keys=[b"other"])
            return not read_offsets(read_ranges(cluster, {tp: OffsetRange(0, 6)}))

        wait_until(is_gone, 90, "the six records to be compacted away", interval_s=1.0)
        end = offsets.latest(cluster, [tp], timeout_s=5)[tp]
        found = read_offsets(read_ranges(cluster, {tp: OffsetRange(0, end)}))
        assert found
        assert found == sorted(set(found))
        assert min(found) >= 6


@pytest.mark.long
def test_a_record_of_fifty_megabytes(new_sandbox: NewSandbox, tp: TopicPartition) -> None:
    servers = new_sandbox(kafka_heap_mb=700)
    servers.create_topic(tp.topic, 1, {"max.message.bytes": "100000000"})
    large = uuid.uuid4().bytes * (50 * 1024 * 1024 // 16)
    with producer(servers.bootstrap_servers, batch_size=0) as made:
        for value in (b"before", large, b"after"):
            made.send(tp.topic, value, partition=0)
        made.flush(timeout=100)
    settings = settings_of(servers)
    given = TaskInput("member-0", (TaskRange(tp, OffsetRange(0, 3)),))
    found = [v for b in task.read(given, settings) for v in b["value"].to_pylist()]
    assert found == [b"before", large, b"after"]
