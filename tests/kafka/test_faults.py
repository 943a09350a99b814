"""Crashes, replays and lost memberships, on a real broker."""

from __future__ import annotations

import time

import pytest

from pyspark_zkgroup.errors import FencedError, ServerError
from pyspark_zkgroup.kafka import group_wire, member_wire
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import all_rows, twice
from tests.harness.spark_order import CrashError
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaGroup, KafkaQuery, settle
from tests.kafka.test_group_life import missing


def crash_at(step: str) -> object:
    def at(reached: str) -> None:
        if reached == step:
            raise CrashError(step)

    return at


def die(query: KafkaQuery, step: str) -> None:
    with pytest.raises(CrashError):
        query.trigger(crash_at(step))  # type: ignore[arg-type]
    query.crash()


def expel(query: KafkaQuery) -> None:
    """As an admin removes a member: it finds out by its next request."""
    member = query.kafka.kept.member
    coordinator = query.connect()
    request = member_wire.leave_request(query.kafka.kept.who(member), "expelled by a test")
    assert coordinator.ask(request, timeout_s=5.0) is not None
    coordinator.close()


def committed(query: KafkaQuery, topic: str, partitions: int) -> dict[int, int | None]:
    names = [TopicPartition(topic, n) for n in range(partitions)]
    return {p.partition: at.offset for p, at in query.kafka.lease.requests.read(names).items()}


@pytest.mark.parametrize("member_id", ["", "one"])
@pytest.mark.parametrize("step", ["logged", pytest.param("sunk", marks=pytest.mark.long)])
def test_an_unfinished_batch_is_replayed_exactly(
    group: KafkaGroup, step: str, member_id: str
) -> None:
    """Within the session's timeout: the predecessor is still a member when we are back."""
    changes = {"member_id": member_id} if member_id else {}
    topic = group.topic(2)
    first = group.query(topic, changes=changes)
    settle(first)
    group.produce(topic, 5)
    wait_until(lambda: bool(first.trigger()), 10, "a first batch")
    group.produce(topic, 5)
    first.trigger()
    group.produce(topic, 5)
    die(first, step)
    planned = first.checkpoint.offsets[-1]["partitions"][topic]
    done = [row for b, rows in first.batches if b in first.checkpoint.commits for row in rows]
    second = group.query(topic, first.checkpoint, changes=changes)
    second.trigger()
    replayed = second.rows
    assert sorted(replayed) == sorted(
        (topic, int(n), offset)
        for n, entry in planned.items()
        for offset in range(entry["from"], entry["until"])
    )
    settle(second)
    assert missing(group, done + second.rows) == []
    assert twice(done + second.rows) == []


@pytest.mark.parametrize("member_id", ["", "one"])
def test_a_finished_batch_is_settled_at_the_restart(group: KafkaGroup, member_id: str) -> None:
    changes = {"member_id": member_id} if member_id else {}
    topic = group.topic(2)
    first = group.query(topic, changes=changes)
    settle(first)
    group.produce(topic, 5)
    die(first, "finished")
    second = group.query(topic, first.checkpoint, changes=changes)
    settle(second)
    assert second.rows == []
    assert committed(second, topic, 2) == {0: 5, 1: 5}


def test_a_range_that_another_has_claimed_is_left_out(group: KafkaGroup) -> None:
    topic = group.topic(2)
    first = group.query(topic)
    settle(first)
    group.produce(topic, 5)
    die(first, "logged")
    other = group.query(topic)
    settle(other)
    assert len(other.rows) == 10
    second = group.query(topic, first.checkpoint)
    # The join waits for the other's boundary, so it is driven in between.
    third = group.query(topic)
    third.trigger()
    assert other.trigger() == 0
    other.stop()
    third.stop()
    assert second.trigger() == 0
    settle(second)
    assert twice(all_rows(other, second, third)) == []
    assert missing(group, all_rows(other, second, third)) == []


def test_a_member_that_is_expelled_joins_again_and_settles(group: KafkaGroup) -> None:
    topic = group.topic(2)
    query = group.query(topic)
    settle(query)
    group.produce(topic, 5)
    assert query.trigger() == 10 or query.trigger() == 10
    expel(query)
    wait_until(lambda: query.kafka.kept.member.life == 1, 5, "the loss to be noticed")
    group.produce(topic, 5)
    settle(query)
    assert len(query.held) == 2
    assert missing(group, query.rows) == []
    assert twice(query.rows) == []


def test_what_an_expelled_member_read_is_not_committed_over_another(group: KafkaGroup) -> None:
    topic = group.topic(1)
    slow, other = group.query(topic), group.query(topic)
    settle(slow)
    group.produce(topic, 5)
    wait_until(lambda: bool(slow.trigger()), 10, "a batch")
    expel(slow)
    settle(other)
    group.produce(topic, 5)
    settle(other)
    assert committed(other, topic, 1) == {0: 10}
    settle(slow, other)
    assert committed(other, topic, 1) == {0: 10}
    assert missing(group, all_rows(slow, other)) == []
    assert len(twice(all_rows(slow, other))) == 5


def test_the_older_of_two_with_one_member_id_ends(group: KafkaGroup) -> None:
    topic = group.topic(2)
    older = group.query(topic, member_id="one")
    settle(older)
    newer = group.query(topic, member_id="one")
    settle(newer)
    assert len(newer.held) == 2

    def fenced() -> bool:
        try:
            older.trigger()
        except FencedError as error:
            return "'one'" in str(error)
        return False

    wait_until(fenced, 10, "the older one to be fenced")
    settle(newer)


def test_a_slow_peer_does_not_hold_up_a_boundary(group: KafkaGroup) -> None:
    topic = group.topic(4)
    quick, slow = group.query(topic), group.query(topic)
    settle(quick, slow)
    newcomer = group.query(topic)
    newcomer.trigger()
    for _ in range(5):  # the slow one is in its batch all the while
        group.produce(topic, 2)
        began = time.monotonic()
        wait_until(lambda: bool(quick.trigger()), 10, "rows of the quick one")
        assert time.monotonic() - began < 8
    assert quick.kafka.kept.member.phase == "rebalancing"
    assert len(quick.held) == 2
    settle(quick, slow, newcomer)
    assert missing(group, all_rows(quick, slow, newcomer)) == []
    assert twice(all_rows(quick, slow, newcomer)) == []


@pytest.mark.long
def test_a_driver_that_is_silent_for_too_long_gives_up_and_comes_back(group: KafkaGroup) -> None:
    topic = group.topic(2)
    silent, other = group.query(topic, silence="6000"), group.query(topic)
    settle(silent, other)
    wait_until(lambda: other.trigger() >= 0 and len(other.held) == 2, 30, "the other to have all")
    group.produce(topic, 5)
    settle(silent, other)
    assert len(silent.held) == 1
    assert missing(group, all_rows(silent, other)) == []


@pytest.mark.long
def test_a_reset_without_members_is_obeyed(group: KafkaGroup) -> None:
    topic = group.topic(1)
    first = group.query(topic)
    group.produce(topic, 5)
    settle(first)
    group.produce(topic, 5)
    wait_until(lambda: bool(first.trigger()), 10, "a batch")
    first.crash()
    helper = group.query(topic)
    coordinator = helper.connect()
    tool = group_wire.commit_request(group.name, {TopicPartition(topic, 0): 2}, "")

    def reset() -> bool:
        answer = coordinator.ask(tool, timeout_s=5.0)
        return answer is not None and set(group_wire.commit_answer(answer).values()) == {None}

    wait_until(reset, 20, "the member to expire and the tool to be allowed")
    coordinator.close()
    second = group.query(topic, first.checkpoint)
    settle(second)
    assert [offset for _, _, offset in second.rows] == list(range(2, 10))


def test_an_outage_is_logged_once_and_the_next_one_again(
    group: KafkaGroup, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once in 30 s, however many boundaries it lasts."""

    def away() -> None:
        raise ServerError("no broker answers")

    query = group.query(group.topic(1))
    settle(query)
    for _ in range(2):
        with monkeypatch.context() as patch:
            patch.setattr(query.kafka.rounds, "refresh_topics", away)
            for _ in range(5):
                query.kafka.boundary({})
        query.kafka.boundary({})
    assert sum("no broker answers" in text for text in caplog.messages) == 2
