"""The request that is under way while records are handed over, and what happens if it fails, on a
broker in this process that fails on demand.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_zkgroup.errors import AccessError, FetchError, OffsetOutOfRangeError
from pyspark_zkgroup.kafka.connection import Call, Cluster
from pyspark_zkgroup.kafka.fetch import RawRecords, read_ranges
from pyspark_zkgroup.kafka.pool import ClusterPool
from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from tests.contract.fetching import settings_of, to_table
from tests.fakes.fetch_broker import FetchBroker
from tests.harness.record_batches import Record, batch

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)
PER_BATCH = 10
NOT_LEADER, UNKNOWN_TOPIC, NOT_ALLOWED = 6, 3, 29


@pytest.fixture
def broker(fetch_broker: FetchBroker) -> FetchBroker:
    """Two partitions with offsets 0 to 99 in ten batches each."""
    fetch_broker.create_topic("t", 2)
    for tp in (ONE, OTHER):
        for _ in range(10):
            fetch_broker.append(tp, batch([Record(n) for n in range(PER_BATCH)]))
    return fetch_broker


def small(broker: FetchBroker, **settings: Any) -> Any:
    """Each request gets one batch of one partition."""
    few = {"fetch_bytes_max": 1, "fetch_wait_max_ms": 100, "deadline_s": 5.0}
    return settings_of(broker, **{**few, **settings})


@pytest.fixture
def cluster(broker: FetchBroker) -> Iterator[Cluster]:
    made = Cluster(small(broker))
    yield made
    made.close()


def offsets_of(raw: Iterator[RawRecords]) -> list[int]:
    found: list[int] = to_table(raw)["offset"].to_pylist()
    return found


# --- what is under way ---


def test_the_next_request_is_sent_before_the_records_are_handed_over(
    broker: FetchBroker, cluster: Cluster
) -> None:
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
    for handed in range(1, 10):
        next(reading)
        broker.wait_for_fetches(handed + 1)
        assert broker.fetches[-1].positions == ((ONE, handed * PER_BATCH),)
    next(reading)
    assert list(reading) == []
    assert len(broker.fetches) == 10


def test_no_more_than_one_request_is_ahead(broker: FetchBroker, cluster: Cluster) -> None:
    for handed, _ in enumerate(read_ranges(cluster, {ONE: OffsetRange(0, 100)}), start=1):
        cluster.take_in()
        cluster.take_in()
        assert len(broker.fetches) <= handed + 1


def test_a_partition_that_comes_back_waits_for_the_request_that_is_under_way(
    broker: FetchBroker,
) -> None:
    """One answer of each broker at a time: more would have no limit."""
    under_way: list[Call] = []

    class Watched(Cluster):
        def start(self, node: int, request: Any, *, timeout_s: float) -> Call:
            assert all(call.is_done for call in under_way)
            under_way[:] = [super().start(node, request, timeout_s=timeout_s)]
            return under_way[0]

    broker.faults.errors = {ONE: [NOT_LEADER] * 3}
    # There is nothing yet of the other partition: the broker delays that request for a while.
    cluster = Watched(small(broker, fetch_wait_max_ms=400))
    found = []
    try:
        for raw in read_ranges(cluster, {ONE: OffsetRange(0, 10), OTHER: OffsetRange(100, 110)}):
            found.append(raw.partition)
            if raw.partition == ONE:
                broker.append(OTHER, batch([Record(n) for n in range(PER_BATCH)]))
    finally:
        cluster.close()
    assert found == [ONE, OTHER]


def test_a_reader_that_takes_its_time_is_no_reason_to_ask_again(broker: FetchBroker) -> None:
    clock = Standing()
    cluster = Cluster(small(broker, request_timeout_ms=500), clock=clock)
    try:
        reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
        found = [next(reading)]
        broker.wait_for_fetches(2)
        for raw in reading:
            clock.now += 1000
            found.append(raw)
    finally:
        cluster.close()
    assert offsets_of(iter(found)) == list(range(100))
    assert len(broker.fetches) == 10
    assert {fetch.connection for fetch in broker.fetches} == {broker.fetches[0].connection}


class Standing:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_records_behind_the_end_are_not_handed_over(broker: FetchBroker) -> None:
    cluster = Cluster(settings_of(broker))
    try:
        (raw,) = read_ranges(cluster, {ONE: OffsetRange(15, 40)})
    finally:
        cluster.close()
    assert raw.wanted == OffsetRange(15, 40)
    assert len(raw.data) == 3 * len(batch([Record(n) for n in range(PER_BATCH)]))
    assert isinstance(raw.data.obj, bytes)  # which the native decoder reads without a copy


def test_batches_without_records_and_an_empty_tail_end_a_range(
    fetch_broker: FetchBroker,
) -> None:
    fetch_broker.create_topic("t", 1)
    fetch_broker.append(ONE, batch([Record(0), Record(1)]))
    fetch_broker.append(ONE, batch([], base_offset=2, last_offset=5))
    fetch_broker.append(ONE, batch([Record(0)], last_offset=3))
    fetch_broker.logs[ONE].end = 20  # and nothing from 10 on: compaction removed it
    cluster = Cluster(small(fetch_broker))
    try:
        assert offsets_of(read_ranges(cluster, {ONE: OffsetRange(0, 20)})) == [0, 1, 6]
        assert offsets_of(read_ranges(cluster, {ONE: OffsetRange(2, 5)})) == []
        assert offsets_of(read_ranges(cluster, {ONE: OffsetRange(12, 20)})) == []
    finally:
        cluster.close()


# --- what goes wrong with it ---


@pytest.mark.parametrize("codes", [[NOT_LEADER], [UNKNOWN_TOPIC], [NOT_LEADER, 0, UNKNOWN_TOPIC]])
def test_an_error_read_ahead_is_met_in_its_turn(
    broker: FetchBroker, cluster: Cluster, codes: list[int]
) -> None:
    broker.faults.errors = {ONE: [0, *codes], OTHER: [0, 0, *codes]}
    ranges = {ONE: OffsetRange(0, 100), OTHER: OffsetRange(0, 100)}
    found = list(read_ranges(cluster, ranges))
    for tp in ranges:
        assert offsets_of(raw for raw in found if raw.partition == tp) == list(range(100))
    assert not any(broker.faults.errors.values())


def test_a_lasting_error_read_ahead_comes_after_the_records_before_it(
    broker: FetchBroker, cluster: Cluster
) -> None:
    broker.faults.errors = {ONE: [0, NOT_ALLOWED]}
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
    first = next(reading)
    broker.wait_for_fetches(2)
    assert offsets_of(iter([first])) == list(range(10))
    with pytest.raises(AccessError, match=r"do not allow this client to read topic 't'"):
        list(reading)


@pytest.mark.parametrize("size", [0, 3, 4, 7, 30, 100, 500])
def test_an_answer_that_breaks_off_is_asked_for_again(
    broker: FetchBroker, cluster: Cluster, size: int
) -> None:
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
    first = next(reading)
    broker.wait_for_fetches(2)
    broker.faults.cut_after = size
    assert offsets_of(iter([first, *reading])) == list(range(100))
    assert len({fetch.connection for fetch in broker.fetches}) == 2


def test_connections_that_break_while_records_are_handed_over(
    broker: FetchBroker, cluster: Cluster
) -> None:
    found = []
    for raw in read_ranges(cluster, {ONE: OffsetRange(0, 100), OTHER: OffsetRange(0, 100)}):
        found.append(raw)
        if len(found) % 4 == 0:
            broker.drop_connections()
    for tp in (ONE, OTHER):
        assert offsets_of(raw for raw in found if raw.partition == tp) == list(range(100))


def test_a_throttled_client_loses_nothing(broker: FetchBroker, cluster: Cluster) -> None:
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
    first = next(reading)
    broker.faults.throttles_ms = [150, 50]
    assert offsets_of(iter([first, *reading])) == list(range(100))


def test_a_broker_that_falls_silent_is_asked_again_on_another_connection(
    broker: FetchBroker,
) -> None:
    broker.faults.unanswered = {1, 3, 4}
    cluster = Cluster(small(broker, request_timeout_ms=300))
    try:
        assert offsets_of(read_ranges(cluster, {ONE: OffsetRange(0, 30)})) == list(range(30))
    finally:
        cluster.close()
    asked = [fetch.positions[0][1] for fetch in broker.fetches]
    assert asked == [0, 0, 10, 10, 10, 20]
    first, second, *others = (fetch.connection for fetch in broker.fetches)
    assert len({first, second, *others}) == 4
    assert second == others[0]


def test_a_broker_that_stays_silent_is_named(broker: FetchBroker) -> None:
    broker.faults.unanswered = set(range(2, 1000))
    cluster = Cluster(small(broker, request_timeout_ms=150, deadline_s=0.6))
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 30)})
    try:
        next(reading)
        with pytest.raises(FetchError, match=f"{broker.bootstrap_servers}: .*no answer in time"):
            next(reading)
    finally:
        cluster.close()


def test_a_task_that_is_killed_leaves_no_answer_for_the_next_one(broker: FetchBroker) -> None:
    pool = ClusterPool()
    settings = small(broker)

    def reading(tp: TopicPartition) -> Iterator[RawRecords]:
        with pool.lease(settings) as cluster:
            yield from read_ranges(cluster, {tp: OffsetRange(0, 100)})

    killed = reading(ONE)
    next(killed)
    broker.wait_for_fetches(2)
    killed.close()  # type: ignore[attr-defined]
    assert offsets_of(reading(OTHER)) == list(range(100))
    ours = [fetch for fetch in broker.fetches if fetch.positions[0][0] == OTHER]
    assert len(ours) == 10
    assert ours[0].connection != broker.fetches[0].connection
    with pool.lease(settings) as cluster:
        assert set(cluster.leaders) == {ONE, OTHER}  # what was learned stays
    pool.close()


# --- records that are gone ---


def test_records_deleted_behind_the_reader_are_an_error(
    broker: FetchBroker, cluster: Cluster
) -> None:
    reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
    next(reading)
    next(reading)
    broker.wait_for_fetches(3)
    broker.logs[ONE].start = 55
    found: list[RawRecords] = []
    with pytest.raises(OffsetOutOfRangeError, match=r"log has \[55, 100\)") as caught:
        found.extend(reading)
    assert len(found) <= 1
    assert caught.value.offset == 20 + PER_BATCH * len(found)


@pytest.mark.parametrize(("until", "read"), [(100, range(50, 100)), (40, range(0))])
def test_records_that_are_gone_are_left_out_where_that_is_wanted(
    broker: FetchBroker, caplog: pytest.LogCaptureFixture, until: int, read: range
) -> None:
    broker.logs[ONE].start = 50
    broker.logs[ONE].batches = broker.logs[ONE].batches[5:]
    cluster = Cluster(small(broker, fail_on_data_loss=False))
    try:
        with caplog.at_level(logging.WARNING, "pyspark_zkgroup"):
            found = list(
                read_ranges(cluster, {ONE: OffsetRange(20, until), OTHER: OffsetRange(0, 10)})
            )
    finally:
        cluster.close()
    assert offsets_of(raw for raw in found if raw.partition == ONE) == list(read)
    assert offsets_of(raw for raw in found if raw.partition == OTHER) == list(range(10))
    gap = f"[20, {min(50, until)})"
    (warning,) = [r.getMessage() for r in caplog.records if r.name.startswith("pyspark_zkgroup")]
    assert f"t-0: offsets {gap} are lost: its log begins at 50" in warning
    assert f"{min(50, until) - 20} offsets lost in this task so far" in warning


def test_a_topic_that_is_gone_is_left_out_where_that_is_wanted(
    broker: FetchBroker, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(small(broker, fail_on_data_loss=False, deadline_s=0.5))
    try:
        reading = read_ranges(cluster, {ONE: OffsetRange(0, 100)})
        next(reading)
        broker.delete_topic("t")
        list(reading)
    finally:
        cluster.close()
    assert "100) are lost: the brokers know no such topic, for 0.5 s" in caplog.text


def test_a_log_that_was_cut_is_left_out_where_that_is_wanted(
    broker: FetchBroker, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = Cluster(small(broker, fail_on_data_loss=False, deadline_s=0.5))
    try:
        found = offsets_of(read_ranges(cluster, {ONE: OffsetRange(90, 120)}))
        assert offsets_of(read_ranges(cluster, {OTHER: OffsetRange(110, 120)})) == []
    finally:
        cluster.close()
    assert found == list(range(90, 100))
    assert "t-0: offsets [100, 120) are lost: its log ends at 100, for 0.5 s" in caplog.text
    assert "t-1: offsets [110, 120) are lost: its log ends at 100, for 0.5 s" in caplog.text


# --- read_committed ---


def test_aborted_transactions_come_with_the_records(broker: FetchBroker) -> None:
    aborted = [AbortedTransaction(5, 0), AbortedTransaction(6, 12)]
    broker.logs[ONE].aborted = aborted
    for isolation, named in (("read_uncommitted", ()), ("read_committed", tuple(aborted))):
        cluster = Cluster(small(broker, isolation=isolation))
        try:
            raw = list(read_ranges(cluster, {ONE: OffsetRange(0, 20)}))
        finally:
            cluster.close()
        assert [r.aborted for r in raw] == [named, named]
        assert broker.fetches[-1].isolation == len(named) // 2


def test_a_range_that_ends_behind_the_last_stable_offset_waits_for_it(
    broker: FetchBroker,
) -> None:
    broker.logs[ONE].stable = 50
    cluster = Cluster(small(broker, isolation="read_committed", deadline_s=0.5))
    found: list[RawRecords] = []
    try:
        assert offsets_of(read_ranges(cluster, {ONE: OffsetRange(0, 50)})) == list(range(50))
        with pytest.raises(FetchError, match="its log ends at 50"):
            found += read_ranges(cluster, {ONE: OffsetRange(40, 60)})
    finally:
        cluster.close()
