"""Offset nodes that other clients have written before a member claims their partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_zkgroup.errors import ZkgroupError
from tests.contract.memberships import KINDS, Members, settle
from tests.harness.spark_order import Checkpoint

EACH = 5
GARBAGE = b"five"


@pytest.fixture(params=["zookeeper", "coordinator"])
def members(request: pytest.FixtureRequest) -> Iterator[Members]:
    with KINDS["fakes"].of(request.param, request) as made:
        yield made


def written(members: Members, values: dict[int, bytes], end: int = EACH) -> str:
    """Return a topic of two partitions, with these values in the group's offset nodes."""
    made: Any = members.made
    topic = str(made.topic(2))
    made.produce(topic, end)
    for partition, value in values.items():
        made.client.create(made.offset_path(topic, partition), value, makepath=True)
    return topic


def test_a_partition_waits_for_its_offset_node_to_be_repaired(members: Members) -> None:
    made: Any = members.made
    topic = written(members, {0: GARBAGE, 1: b"2"})
    query: Any = members.query(topic)
    for _ in range(10):
        query.trigger()
    assert sorted(query.rows) == [(topic, 1, n) for n in range(2, EACH)]
    (why,) = query.membership.status()["waiting"].values()
    assert made.offset_path(topic, 0) in why
    assert GARBAGE.decode() in why
    made.client.set(made.offset_path(topic, 0), b"3")
    settle(query, partitions=2)
    assert sorted(query.rows) == [(topic, 0, 3), (topic, 0, 4)] + [
        (topic, 1, n) for n in range(2, EACH)
    ]


@pytest.mark.parametrize(("starting", "first"), [("earliest", 0), ("latest", EACH)])
def test_a_negative_offset_is_none(members: Members, starting: str, first: int) -> None:
    """As JVM members take it."""
    topic = written(members, {0: b"-1", 1: b"2"})
    query: Any = members.query(topic, starting=starting)
    settle(query, partitions=2)
    assert sorted(query.rows) == [(topic, 0, n) for n in range(first, EACH)] + [
        (topic, 1, n) for n in range(2, EACH)
    ]
    assert members.committed(topic) == {0: EACH, 1: EACH}


def test_only_a_new_query_is_asked_for_starts_of_all_partitions(members: Members) -> None:
    """A running one has read beyond them, and its topics grow."""
    topic = written(members, {})
    incomplete = f'{{"{topic}":{{"0":1}}}}'
    with pytest.raises(ZkgroupError, match="startingOffsets"):
        members.query(topic, starting=incomplete).trigger()
    checkpoint = Checkpoint()
    first = members.query(topic, checkpoint)
    settle(first, partitions=2)
    first.stop()
    members.made.produce(topic, EACH)
    again = members.query(topic, checkpoint, starting=incomplete)
    settle(again, partitions=2)
    assert sorted(again.rows) == [(topic, p, n) for p in range(2) for n in range(EACH, 2 * EACH)]


def test_a_new_group_begins_at_a_time(members: Members) -> None:
    """Each fake record has its offset as its time."""
    made: Any = members.made
    topic = written(members, {})
    options = {**made.options(topic, protocol=members.protocol), "startingTimestamp": "2"}
    del options["startingOffsets"]
    query = made.query_of(options)
    settle(query, partitions=2)
    assert sorted(query.rows) == [(topic, p, n) for p in range(2) for n in range(2, EACH)]
