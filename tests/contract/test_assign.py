"""Partitions named by `assign`: read and committed as the group's, without joining it.

On real servers and on the simulation's fakes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.errors import AssignmentError, FencedError, PlanError, SubscriptionError
from tests.contract.simulated_groups import SimulatedGroup
from tests.contract.simulated_queries import Simulation
from tests.harness.group import Group, all_rows, group_of, missing, settle, twice
from tests.harness.spark_order import Checkpoint, CrashError, Query

AnyGroup = Group | SimulatedGroup


@pytest.fixture(params=["fakes", "servers"])
def group(request: pytest.FixtureRequest) -> Iterator[AnyGroup]:
    if request.param == "servers":
        with group_of(request.getfixturevalue("sandbox")) as on_servers:
            yield on_servers
        return
    simulation = Simulation()
    try:
        yield SimulatedGroup(simulation)
    finally:
        simulation.end()


def assign(
    group: AnyGroup, topic: str, *partitions: int, checkpoint: Checkpoint | None = None, **more: str
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


def test_named_partitions_are_read_and_committed_and_nothing_is_registered(group: AnyGroup) -> None:
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


def test_a_member_continues_where_it_ended_and_the_other_way_round(group: AnyGroup) -> None:
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


def test_it_is_refused_while_the_group_has_members(group: AnyGroup) -> None:
    topic = group.topic(2)
    member = group.query(topic)
    settle(member)
    query = assign(group, topic, 0)
    with pytest.raises(AssignmentError, match=rf"live members \({member.membership.member}"):
        query.trigger()


def test_it_ends_when_a_member_joins(group: AnyGroup) -> None:
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


def test_of_two_the_earlier_one_ends(group: AnyGroup) -> None:
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
def test_a_crash_at_any_step_loses_nothing(group: AnyGroup, step: str) -> None:
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


def test_offsets_that_were_set_while_it_was_stopped_count(group: AnyGroup) -> None:
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


def test_a_partition_that_is_not_there_is_named(group: AnyGroup) -> None:
    topic = group.topic(2)
    query = assign(group, topic, 0, 7)
    with pytest.raises(SubscriptionError, match=f"{topic}-7, which does not exist in the cluster"):
        query.trigger()


def test_a_checkpoint_of_a_member_is_refused(group: AnyGroup) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    member = group.query(topic, checkpoint)
    member.until(10)
    member.stop()
    query = assign(group, topic, 0, checkpoint=checkpoint)
    with pytest.raises(PlanError, match="with protocol 'zookeeper'"):
        query.trigger()


def test_starts_are_given_for_the_partitions_that_are_read(group: AnyGroup) -> None:
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
