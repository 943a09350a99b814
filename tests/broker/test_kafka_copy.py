"""offsets.storage=kafka: offsets are where Kafka's own consumers look, and come from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyspark_zkgroup.clock import SystemClock
from pyspark_zkgroup.errors import AssignmentError, ServerError
from pyspark_zkgroup.protocols.owned import lost_offsets
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from tests.harness.group import Group, known, missing, settle, twice, waits_for
from tests.harness.kept_offsets import keep, kept, live_consumer
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.waiting import wait_until
from tests.kafka import members as in_brokers
from tests.kafka.members import kafka_group_of


def set_in_zookeeper(group: Group, topic: str, offsets: dict[int, int]) -> None:
    for partition, offset in offsets.items():
        path = group.offset_path(topic, partition)
        group.client.ensure_path(path)
        group.client.set(path, b"%d" % offset)


def first_offsets_read(query: Query) -> dict[int, int]:
    found: dict[int, int] = {}
    for _, partition, offset in query.rows:
        found[partition] = min(offset, found.get(partition, offset))
    return found


def starts_of_last_batch(query: Query) -> dict[int, int]:
    """What the group had read of each partition when its last batch began: a busy machine may
    deliver in two batches what was produced at once.
    """
    before = [row for _, rows in query.batches[:-1] for row in rows]
    found: dict[int, int] = {}
    for _, partition, offset in before:
        found[partition] = max(offset + 1, found.get(partition, 0))
    return found


def test_each_commit_is_copied_and_so_is_the_last(group: Group, tmp_path: Path) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    logs = Checkpoint(directory=tmp_path)
    query = group.query(topic, logs, evidence=str(tmp_path), storage="kafka")
    query.trigger()
    assert kept(group, topic) == {0: 0, 1: 0}, "a claim is copied"
    query.trigger()
    assert group.offsets(topic) == {0: b"10", 1: b"10"}
    assert kept(group, topic) == {0: 10, 1: 10}
    group.produce(topic, 5)
    query.until(30)
    assert kept(group, topic) == starts_of_last_batch(query), "not before the next boundary"
    query.stop()
    assert kept(group, topic) == {0: 15, 1: 15}, "the last one, as it leaves"
    group.produce(topic, 5)
    job = group.query(topic, available_now=True, storage="kafka")
    job.drain()
    assert kept(group, topic) == {0: 20, 1: 20}, "a job that ends by itself"


def test_without_the_option_nothing_is_written_to_kafka(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    settle(group.query(topic))
    assert kept(group, topic) == {0: None, 1: None}


def test_one_request_for_all_and_none_when_nothing_is_new(group: Group) -> None:
    topic = group.topic(12)
    group.produce(topic, 2)
    query = group.query(topic, storage="kafka")
    settle(query)
    calls = counted_commits(query)
    for _ in range(5):
        query.trigger()
    assert calls == []
    group.produce(topic, 1)
    query.until(36)
    query.trigger()
    assert [len(offsets) for offsets in calls] == [12]


def counted_commits(query: Query) -> list[dict[Any, int]]:
    calls: list[dict[Any, int]] = []
    store = query.membership.joining.copy.store
    assert store is not None
    commit = store.commit_group_offsets

    def counting(offsets: Any, note: str, *, timeout_s: float) -> Any:
        calls.append(dict(offsets))
        return commit(offsets, note, timeout_s=timeout_s)

    store.commit_group_offsets = counting  # type: ignore[method-assign]
    return calls


def test_an_idle_group_is_written_again_before_it_expires(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    query = group.query(topic, storage="kafka")
    settle(query)
    calls = counted_commits(query)
    clock = LateClock()
    monkeypatch.setattr(query.membership.joining.copy, "clock", clock)
    clock.later_s = 23 * 3600
    query.trigger()
    assert calls == []
    clock.later_s = 25 * 3600
    query.trigger()
    query.trigger()
    assert [sorted(offsets.values()) for offsets in calls] == [[3, 3]]


class LateClock(SystemClock):
    later_s = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.later_s


# -- where a query begins


def test_a_group_of_the_brokers_moves_over_and_back(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    keep(group, topic, {0: 4})
    query = group.query(topic, starting="latest", storage="kafka")
    settle(query)
    assert first_offsets_read(query) == {0: 4, 1: 0}, "the group reads the topic already"
    assert group.offsets(topic) == {0: b"10", 1: b"10"}
    query.stop()
    # Back: nothing of ZooKeeper is stale.
    group.produce(topic, 2)
    after = group.query(topic)
    settle(after)
    after.stop()
    assert first_offsets_read(after) == {0: 10, 1: 10}
    # A consumer of the brokers continues where we were at last.
    again = group.query(topic, storage="kafka")
    settle(again)
    again.stop()
    assert kept(group, topic) == {0: 12, 1: 12}


def test_the_larger_offset_counts_once_and_a_rewind_is_followed(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    set_in_zookeeper(group, topic, {0: 2, 1: 9})
    keep(group, topic, {0: 6, 1: 6})
    query = group.query(topic, storage="kafka")
    settle(query)
    assert first_offsets_read(query) == {0: 6, 1: 9}
    query.stop()
    assert kept(group, topic) == {0: 10, 1: 10}
    # The offset in Kafka is a copy by now: it does not hide that the one in ZooKeeper was set back.
    set_in_zookeeper(group, topic, {0: 3, 1: 3})
    after = group.query(topic, storage="kafka")
    after.trigger()
    assert first_offsets_read(after) == {0: 3, 1: 3}
    assert kept(group, topic) == {0: 3, 1: 3}


def test_where_others_commit_to_kafka_alone_theirs_counts_at_each_claim(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    set_in_zookeeper(group, topic, {0: 8, 1: 8})
    keep(group, topic, {0: 5, 1: 5})
    query = group.query(topic, dual="false", storage="kafka")
    settle(query)
    assert first_offsets_read(query) == {0: 5, 1: 5}
    group.expire(query)
    keep(group, topic, {0: 7})
    settle(query)
    assert [(p, o) for _, p, o in query.rows[10:]] == [(0, 7), (0, 8), (0, 9)]


def test_a_negative_offset_in_zookeeper_is_none(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    set_in_zookeeper(group, topic, {0: -1})
    keep(group, topic, {0: 6})
    query = group.query(topic, storage="kafka")
    settle(query)
    assert first_offsets_read(query) == {0: 6}


def test_lost_nodes_are_restored_from_the_copy(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    settle(reader := group.query(topic, storage="kafka"))
    reader.stop()
    watcher = group.query(topic, storage="kafka")
    watcher.trigger()
    held = watcher.membership.holdings
    group.client.delete(f"/consumers/{group.name}/offsets", recursive=True)
    # Another member was the last to read, and does not come back.
    monkeypatch.setattr(lost_offsets, "_RESTORE_S", 0.0)
    for partition in list(held.held):
        held.hand_on(partition)
    held.remembered.clear()
    group.expire(watcher)
    settle(watcher)
    assert watcher.rows == []
    assert group.offsets(topic) == {0: b"10", 1: b"10"}


# -- what goes wrong


def test_a_live_group_of_the_brokers_is_named_before_anything_is_written(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    topic = group.topic(2)
    with live_consumer(group.sandbox, group.name, topic):
        query = group.query(topic, storage="kafka")
        with pytest.raises(AssignmentError, match=r"a-live-consumer at /127\.0\.0\.1") as refused:
            query.trigger()
        assert "offsets.storage=zookeeper" in f"{refused.value}"
        assert not group.client.exists(f"/consumers/{group.name}/ids")
        with caplog.at_level("WARNING", "pyspark_zkgroup.group"):
            settle(beside := group.query(topic))
        beside.stop()
        (said,) = [r.getMessage() for r in caplog.records if "ZKG-178" in r.getMessage()]
        assert "a-live-consumer at /127.0.0.1" in said


def test_a_member_of_ours_in_the_brokers_group_is_refused_wherever_offsets_are(
    group: Group,
) -> None:
    """A rolling restart from protocol=kafka with new checkpoints: both groups would read it all."""
    topic = group.topic(2)
    with kafka_group_of(group.sandbox) as brokers:
        brokers.name = group.name
        in_brokers.settle(brokers.query(topic, client_id="not-restarted-yet"))
        with pytest.raises(AssignmentError, match=r"not-restarted-yet at /127\.0\.0\.1"):
            group.query(topic).trigger()
    assert not group.client.exists(f"/consumers/{group.name}/ids")
    settle(group.query(topic))


def test_a_live_group_that_comes_later_is_named_and_waited_out(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    query = group.query(topic, storage="kafka")
    settle(query)
    with live_consumer(group.sandbox, group.name, topic):
        group.produce(topic, 3)
        query.until(12)
        query.trigger()
        (note,) = [n for n in known(query)["notes"] if "Kafka" in n]
        assert "a-live-consumer" in note
        assert group.offsets(topic) == {0: b"6", 1: b"6"}, "the query continues"

    def copied() -> bool:
        query.trigger()
        return kept(group, topic) == {0: 6, 1: 6}

    wait_until(copied, 30, "the copy")
    assert not [n for n in known(query)["notes"] if "Kafka" in n]


def test_brokers_that_do_not_answer_hold_up_nothing_for_long(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    query = group.query(topic, storage="kafka")
    settle(query)
    tries: list[float] = []

    def unreachable(_offsets: object, _note: str, *, timeout_s: float) -> object:
        tries.append(timeout_s)
        raise ServerError("No coordinator answers", "Wait")

    with monkeypatch.context() as patch:
        patch.setattr(query.brokers, "commit_group_offsets", unreachable)
        group.produce(topic, 3)
        query.until(12)
        for _ in range(4):
            query.trigger()
        assert tries == [1.0], "bounded by a third of the session, and not tried again at once"
        assert group.offsets(topic) == {0: b"6", 1: b"6"}
        assert "No coordinator answers" in known(query)["notes"][-1]

    def copied() -> bool:
        query.trigger()
        return kept(group, topic) == {0: 6, 1: 6}

    wait_until(copied, 10, "the copy")


def test_the_last_copy_is_tried_soon_after_one_that_failed(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(1)
    group.produce(topic, 3)
    query = group.query(topic, storage="kafka")
    query.until(3)

    def unreachable(_offsets: object, _note: str, *, timeout_s: float) -> object:
        raise ServerError("No coordinator answers", "Wait")

    with monkeypatch.context() as patch:
        patch.setattr(query.brokers, "commit_group_offsets", unreachable)
        query.trigger()
    query.stop()
    assert kept(group, topic, 1) == {0: 3}


def test_a_partition_whose_offset_in_kafka_is_not_told_waits(
    group: Group, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    set_in_zookeeper(group, topic, {0: 2})
    keep(group, topic, {0: 6})
    query = group.query(topic, storage="kafka")

    def silent(_partitions: object) -> object:
        raise ServerError("The coordinator is loading", "Wait")

    with monkeypatch.context() as patch:
        patch.setattr(query.brokers, "group_offsets", silent)
        query.trigger()
        assert query.held == set()
        assert "The coordinator is loading" in waits_for(query, 0)
    settle(query)
    assert first_offsets_read(query) == {0: 6}


def test_a_member_that_lost_its_session_does_not_copy(group: Group) -> None:
    """A commits, and stops before it copies; B takes over; A continues."""
    topic = group.topic(1)
    group.produce(topic, 3)
    a = group.query(topic, storage="kafka")
    settle(a)
    group.produce(topic, 3)
    a.until(6)
    write, session = a.membership.joining.copy.write, a.membership.keeper.session
    assert session is not None

    def overtaken(context: MemberContext, *, has_lease: bool, last: bool = False) -> None:
        assert has_lease
        group.expire(a)
        settle(b)
        group.produce(topic, 3)
        b.until(3)
        b.trigger()
        wait_until(lambda: not a.membership.keeper.may_plan, 10, "A to hear of it")
        a.membership.joining.copy.write = write  # type: ignore[method-assign]
        write(a.membership.keeper.context, has_lease=a.membership.keeper.may_plan)  # type: ignore[arg-type]

    b = group.query(topic, storage="kafka")
    a.membership.joining.copy.write = overtaken  # type: ignore[method-assign]
    a.trigger()
    assert kept(group, topic, 1) == {0: 9}
    settle(a, b)
    assert missing(group, [*a.rows, *b.rows]) == [] == twice([*a.rows, *b.rows])
