"""Partitions named by `assign`: read and committed as the group's, without joining it."""

from __future__ import annotations

import json

import pytest

from pyspark_zkgroup.errors import (
    AssignmentError,
    FencedError,
    OptionError,
    PlanError,
    SubscriptionError,
)
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import Group, all_rows, missing, settle, twice
from tests.harness.producing import produce
from tests.harness.retention import delete_records
from tests.harness.spark_order import Checkpoint, CrashError, Query


def assign(
    group: Group, topic: str, *partitions: int, checkpoint: Checkpoint | None = None, **more: str
) -> Query:
    named = json.dumps({topic: list(partitions)})
    return group.query_of({**group.options(**more), "assign": named}, checkpoint)


def trigger_for_a_while(query: Query) -> None:
    for _ in range(50):
        query.trigger()


def crash_at(step: str) -> object:
    def at(reached: str) -> None:
        if reached == step:
            raise CrashError(step)

    return at


def test_named_partitions_are_read_and_committed_and_nothing_is_registered(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 20)
    query = assign(group, topic, 0, 2)
    query.until(40)
    query.trigger()
    assert {(p, o) for _, p, o in query.rows} == {(p, o) for p in (0, 2) for o in range(20)}
    offsets = group.offsets(topic)
    assert (offsets[0], offsets[2]) == (b"20", b"20")
    assert offsets.get(1) in (None, b"0"), "the one that is not read stays where it starts"
    assert group.owners(topic) == {}
    assert not group.client.exists(f"/consumers/{group.name}/ids")


def test_a_member_goes_on_where_it_ended_and_the_other_way_round(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    first = assign(group, topic, 0, 1)
    first.until(20)
    first.trigger()
    first.stop()
    member = group.query(topic)
    group.produce(topic, 10)
    member.until(20)
    member.trigger()
    member.stop()
    group.produce(topic, 10)
    last = assign(group, topic, 0, 1)
    last.until(20)
    assert missing(group, all_rows(first, member, last)) == []
    assert twice(all_rows(first, member, last)) == []


def test_it_is_refused_while_the_group_has_members(group: Group) -> None:
    topic = group.topic(2)
    member = group.query(topic)
    settle(member)
    query = assign(group, topic, 0)
    with pytest.raises(AssignmentError, match=rf"live members \({member.membership.member}"):
        query.trigger()


def test_it_ends_when_a_member_joins(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    query = assign(group, topic, 0)
    query.until(10)
    member = group.query(topic)
    settle(member)
    group.produce(topic, 10)
    with pytest.raises(AssignmentError, match="live members"):
        trigger_for_a_while(query)
    query.crash()
    settle(member)
    rows = all_rows(query, member)
    assert missing(group, rows) == []


def test_of_two_the_earlier_one_ends(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    first = assign(group, topic, 0)
    first.until(10)
    second = assign(group, topic, 0)
    second.trigger()
    group.produce(topic, 10)
    with pytest.raises(FencedError, match="changed by another process"):
        trigger_for_a_while(first)
    second.until(20)
    assert missing(group, second.rows) == []


@pytest.mark.parametrize("step", ["logged", "partitions", "sunk", "finished"])
def test_a_crash_at_any_step_loses_nothing(group: Group, step: str) -> None:
    topic = group.topic(2)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    query = assign(group, topic, 0, 1, checkpoint=checkpoint, maxOffsetsPerTrigger="6")
    query.trigger()
    with pytest.raises(CrashError):
        query.trigger(crash_at(step))  # type: ignore[arg-type]
    query.crash()
    again = assign(group, topic, 0, 1, checkpoint=checkpoint, maxOffsetsPerTrigger="6")
    while again.trigger():
        pass
    by_batch = dict(query.batches)
    by_batch.update(again.batches)
    rows = [row for rows in by_batch.values() for row in rows]
    assert missing(group, rows) == [] == twice(rows)


def test_offsets_that_were_set_while_it_was_stopped_count(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    query = assign(group, topic, 0, checkpoint=checkpoint)
    query.until(10)
    query.crash()  # finished, and not yet committed
    group.client.set(f"/consumers/{group.name}/offsets/{topic}/0", b"4")
    again = assign(group, topic, 0, checkpoint=checkpoint)
    again.until(6)
    assert [o for _, _, o in again.rows] == [4, 5, 6, 7, 8, 9]


def test_a_partition_that_is_not_there_is_named(group: Group) -> None:
    topic = group.topic(2)
    query = assign(group, topic, 0, 7)
    with pytest.raises(SubscriptionError, match=f"{topic}-7, which does not exist in the cluster"):
        query.trigger()


def test_a_checkpoint_of_a_member_is_refused(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    member = group.query(topic, checkpoint)
    member.until(10)
    member.stop()
    query = assign(group, topic, 0, checkpoint=checkpoint)
    with pytest.raises(PlanError, match="with protocol 'zookeeper'"):
        query.trigger()


def test_starts_are_given_for_the_partitions_that_are_read(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 10)
    starts = json.dumps({topic: {"0": 4, "2": -1}})
    query = assign(group, topic, 0, 2, startingOffsets=starts)
    query.until(6)
    group.produce(topic, 1)
    query.until(8)
    assert sorted((p, o) for _, p, o in query.rows) == [
        *((0, n) for n in range(4, 11)),
        (2, 10),
    ]


FIRST_MS, SECOND_MS = 1_700_000_000_000, 1_700_000_001_000
STARTS = {
    "latest": ({"startingOffsets": "latest"}, (6, 6)),
    "times": ({"startingOffsetsByTimestamp": f'{{"0": {FIRST_MS}, "2": {SECOND_MS}}}'}, (0, 3)),
    "a time for all": ({"startingTimestamp": str(SECOND_MS)}, (3, 3)),
}


@pytest.mark.parametrize("fail", ["true", "false"])
@pytest.mark.parametrize("start", STARTS)
def test_every_kind_of_start_holds_for_the_partitions_that_are_read(
    group: Group, start: str, fail: str
) -> None:
    topic = group.topic(3)
    for partition in range(3):
        for at_ms in (FIRST_MS, SECOND_MS):
            tp = TopicPartition(topic, partition)
            produce(group.sandbox.bootstrap_servers, tp, [b"v"] * 3, timestamp_ms=at_ms)
    given, (first, second) = STARTS[start]
    options = {
        name: f'{{"{topic}": {value}}}' if value.startswith("{") else value
        for name, value in given.items()
    }
    named = {"assign": json.dumps({topic: [0, 2]}), "failOnDataLoss": fail}
    query = group.query_of({**group.options(**options), **named})
    query.trigger()
    group.produce(topic, 1)
    query.until(7 - first + 7 - second)
    assert sorted((p, o) for _, p, o in query.rows) == [
        *((0, n) for n in range(first, 7)),
        *((2, n) for n in range(second, 7)),
    ]


def test_a_start_that_is_gone_is_a_loss_like_any_other(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 6})
    starts = json.dumps({topic: {"0": 2}})
    strict = assign(group, topic, 0, startingOffsets=starts)
    with pytest.raises(OptionError, match="below its start"):
        strict.trigger()
    query = assign(group, topic, 0, startingOffsets=starts, failOnDataLoss="false")
    query.until(4)
    assert [o for _, _, o in query.rows] == [6, 7, 8, 9]
    assert query.membership.status()["dataLoss"] == {"events": 1, "records": 4}
