"""What a task does if its log was cut, its topic was recreated, or its leader was replaced. Brokers
in this process get into those states; tests/broker/test_unclean_election.py has real ones.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.kafka import leaders, metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import read_ranges
from pyspark_zkgroup.kafka.leader_cache import AGE_MAX_S, Leader
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.model import LogEnd, Mark, OffsetRange, TopicPartition
from tests.contract.fetching import numbered, rows, settings_of, to_table, values
from tests.fakes.broker_log import Log
from tests.fakes.fetch_broker import EPOCH_ENDS, METADATA, FetchBroker
from tests.fakes.still_clock import StillClock
from tests.harness.producing import produce

TP = TopicPartition("events", 0)
OTHER = 8


@pytest.fixture
def broker(fetch_broker: FetchBroker) -> FetchBroker:
    fetch_broker.create_topic(TP.topic, 1)
    produce(fetch_broker.bootstrap_servers, TP, values(100), batch_size=0)
    return fetch_broker


@pytest.fixture
def second(broker: FetchBroker) -> Iterator[FetchBroker]:
    """Leads what `broker` has led: it has the same records, and newer ones."""
    made = FetchBroker(OTHER)
    made.peers, broker.peers = [broker], [made]
    made.ids = broker.ids
    log = broker.logs[TP]
    made.logs[TP] = Log(list(log.batches), end=log.end, epoch_starts=list(log.epoch_starts))
    made.logs[TP].elect()
    yield made
    made.close()


def grow(second: FetchBroker) -> None:
    """Append through it alone: the broker that `broker` names as leader gets the records."""
    peers, second.peers = second.peers, []
    produce(second.bootstrap_servers, TP, values(50), batch_size=0)
    second.peers = peers


def cluster_of(broker: FetchBroker, **settings: object) -> Cluster:
    return Cluster(settings_of(broker, **{"deadline_s": 1.0, "fetch_wait_max_ms": 50, **settings}))


def mark_of(broker: FetchBroker, epoch: int) -> Mark:
    cluster = cluster_of(broker)
    try:
        found = metadata.read(cluster, [TP.topic], timeout_s=5).topics[TP.topic]
    finally:
        cluster.close()
    assert found.id
    return Mark(epoch, found.id)


def cut_and_grown(broker: FetchBroker) -> Mark:
    """100 records; cut at 60 by the leader of the next epoch; 50 new ones."""
    mark = mark_of(broker, 0)
    broker.logs[TP].elect(60)
    produce(broker.bootstrap_servers, TP, [b"new %d" % n for n in range(50)], batch_size=0)
    return mark


@pytest.mark.parametrize("start", [40, 60, 80])
def test_a_range_that_was_cut_and_has_grown_again_is_a_loss_with_its_offsets(
    broker: FetchBroker, start: int
) -> None:
    mark = cut_and_grown(broker)
    cluster = cluster_of(broker)
    try:
        with pytest.raises(FetchError) as caught:
            list(read_ranges(cluster, {TP: OffsetRange(start, 100)}, {TP: mark}))
    finally:
        cluster.close()
    assert (
        f"Offsets {max(start, 60)} to 99 of events-0 are lost: its log was cut at 60 when its "
        "leader epoch went from 0 to 1"
    ) in f"{caught.value}"


@pytest.mark.parametrize("start", [40, 60, 80])
def test_where_losses_are_allowed_what_is_left_of_the_range_is_read(
    broker: FetchBroker, start: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing of what replaced the lost range is read: the planner goes back to it."""
    caplog.set_level(logging.WARNING)
    mark = cut_and_grown(broker)
    cluster = cluster_of(broker, fail_on_data_loss=False)
    try:
        table = to_table(read_ranges(cluster, {TP: OffsetRange(start, 100)}, {TP: mark}))
    finally:
        cluster.close()
    assert table["offset"].to_pylist() == list(range(start, 60))
    assert f"[ZKG-142] events-0: offsets [{max(start, 60)}, 100) are lost" in caplog.text


def test_a_range_that_was_not_cut_is_read_whole_and_asks_once(broker: FetchBroker) -> None:
    mark = mark_of(broker, 0)
    broker.logs[TP].elect()
    cluster = cluster_of(broker, fetch_bytes_max=200)
    try:
        table = to_table(read_ranges(cluster, {TP: OffsetRange(10, 100)}, {TP: mark}))
    finally:
        cluster.close()
    assert table["offset"].to_pylist() == list(range(10, 100))
    assert broker.heard[EPOCH_ENDS] == 1


def test_in_the_epoch_of_the_plan_nothing_is_asked(broker: FetchBroker) -> None:
    mark = mark_of(broker, 0)
    cluster = cluster_of(broker)
    try:
        assert rows(cluster, {TP: OffsetRange(10, 90)}, {TP: mark}) == {TP: numbered(10, 90)}
    finally:
        cluster.close()
    assert not broker.heard[EPOCH_ENDS]


def test_a_log_that_is_cut_while_it_is_read(broker: FetchBroker) -> None:
    mark = mark_of(broker, 0)
    cluster = cluster_of(broker, fetch_bytes_max=1, fail_on_data_loss=False)
    found = []
    try:
        for raw in read_ranges(cluster, {TP: OffsetRange(0, 100)}, {TP: mark}):
            found.append(raw.wanted.start)
            if raw.wanted.start == 20:
                cut_and_grown(broker)
    finally:
        cluster.close()
    assert found == list(range(60))


def test_a_short_log_of_a_leader_in_the_epoch_of_the_plan_is_never_skipped(
    broker: FetchBroker,
) -> None:
    """Without epochs it would be, after the deadline, if losses are allowed."""
    mark = mark_of(broker, 0)
    broker.logs[TP].committed = 70
    ranges = {TP: OffsetRange(0, 100)}
    cluster = cluster_of(broker, fail_on_data_loss=False)
    try:
        with pytest.raises(FetchError, match=r"from offset 70 to 100: its log ends at 70"):
            list(read_ranges(cluster, ranges, {TP: mark}))
        assert len(to_table(read_ranges(cluster, ranges))) == 70
    finally:
        cluster.close()


def test_a_former_leader_that_still_answers_is_left_for_the_one_that_leads(
    broker: FetchBroker, second: FetchBroker
) -> None:
    """It does not know of the election and names itself; the other broker names the new leader."""
    grow(second)
    cluster = cluster_of(broker, deadline_s=10.0, fail_on_data_loss=False)
    try:
        assert offsets.latest(cluster, [TP], timeout_s=5) == {TP: 100}
        table = to_table(read_ranges(cluster, {TP: OffsetRange(90, 150)}))
    finally:
        cluster.close()
    assert table["offset"].to_pylist() == list(range(90, 150))


def test_a_plan_of_a_later_epoch_turns_from_a_former_leader_at_once(
    broker: FetchBroker, second: FetchBroker
) -> None:
    grow(second)
    mark = mark_of(second, 1)
    cluster = cluster_of(broker, deadline_s=10.0)
    try:
        offsets.latest(cluster, [TP], timeout_s=5)
        asked = len(broker.fetches)
        found = rows(cluster, {TP: OffsetRange(120, 150)}, {TP: mark})
    finally:
        cluster.close()
    assert [offset for offset, _ in found[TP]] == list(range(120, 150))
    assert len(broker.fetches) == asked


def test_a_leader_is_known_for_five_minutes_and_then_another_broker_is_asked(
    broker: FetchBroker, second: FetchBroker
) -> None:
    clock = StillClock()
    cluster = Cluster(settings_of(broker), clock=clock)
    try:
        assert offsets.latest(cluster, [TP], timeout_s=5) == {TP: 100}
        grow(second)
        clock.now += AGE_MAX_S - 10
        assert offsets.latest(cluster, [TP], timeout_s=5) == {TP: 100}
        clock.now += 20
        assert offsets.latest(cluster, [TP], timeout_s=5) == {TP: 150}
        # What the former leader continues to report about itself is older, and ignored.
        leaders.forget(cluster, [TP])
        second.leaders[TP] = (broker.node, 0)
        found = leaders.find(cluster, [TP], timeout_s=5)[TP]
        assert isinstance(found, NoLeader)
        assert found.exists
    finally:
        cluster.close()


def test_leaders_that_are_old_are_kept_while_no_broker_tells_more(broker: FetchBroker) -> None:
    clock = StillClock()
    cluster = Cluster(settings_of(broker), clock=clock)
    try:
        leaders.find(cluster, [TP], timeout_s=5)
        broker.drop_connections()
        broker.peers = []
        clock.now += AGE_MAX_S + 1
        asked = broker.heard[METADATA]
        found = leaders.find(cluster, [TP], timeout_s=5)[TP]
        assert isinstance(found, Leader)
        assert broker.heard[METADATA] == asked + 1
    finally:
        cluster.close()


def test_an_epoch_that_has_moved_is_looked_up_and_asked_again(broker: FetchBroker) -> None:
    cluster = cluster_of(broker)
    try:
        assert offsets.log_ends(cluster, [TP], timeout_s=5)[TP].mark.epoch == 0
        broker.logs[TP].elect()
        assert offsets.log_ends(cluster, [TP], timeout_s=5)[TP] == LogEnd(100, mark_of(broker, 1))
        assert offsets.epoch_ends(cluster, {TP: 0}, timeout_s=5) == {TP: 100}
        broker.logs[TP].elect(60)
        # Refused in the old epoch, and only looked up for the next request.
        assert offsets.epoch_ends(cluster, {TP: 0}, timeout_s=5) == {}
        assert offsets.epoch_ends(cluster, {TP: 0}, timeout_s=5) == {TP: 60}
    finally:
        cluster.close()


@pytest.mark.parametrize("may_lose", [False, True])
@pytest.mark.parametrize("records", [10, 500])
def test_a_topic_recreated_under_a_task_is_not_read_for_the_old_one(
    broker: FetchBroker, may_lose: bool, records: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = mark_of(broker, 0)
    broker.ids[TP.topic] = uuid.uuid4()
    broker.logs[TP] = Log()
    produce(broker.bootstrap_servers, TP, values(records))
    cluster = cluster_of(broker, fail_on_data_loss=not may_lose)
    try:
        if may_lose:
            assert len(to_table(read_ranges(cluster, {TP: OffsetRange(3, 90)}, {TP: mark}))) == 0
            return
        with pytest.raises(FetchError, match="its topic was recreated"):
            list(read_ranges(cluster, {TP: OffsetRange(3, 90)}, {TP: mark}))
    finally:
        cluster.close()


def test_a_partition_that_one_broker_does_not_know_is_asked_of_another(
    broker: FetchBroker, second: FetchBroker
) -> None:
    """A task whose first broker lags must not take a new partition for a deleted one."""
    new = TopicPartition(TP.topic, 1)
    second.logs[new] = Log()
    cluster = cluster_of(broker)
    try:
        assert offsets.latest(cluster, [new], timeout_s=5) == {new: 0}
    finally:
        cluster.close()
