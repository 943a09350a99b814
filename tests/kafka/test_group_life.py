"""Members of a group of the brokers, on a real broker: join, leave, die, expire, grow."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import all_rows, twice
from tests.harness.spark_order import Row
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaGroup, settle


def missing(group: KafkaGroup, rows: list[Row]) -> list[Row]:
    expected = {row for produced in group.produced.values() for row in produced.offsets()}
    return sorted(expected - set(rows))


def test_one_member_reads_it_all(group: KafkaGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    query = group.query(topic)
    settle(query)
    assert query.held == {TopicPartition(topic, n) for n in range(4)}
    assert missing(group, query.rows) == []
    assert twice(query.rows) == []


def test_a_second_member_takes_half_without_a_duplicate(group: KafkaGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    first = group.query(topic)
    settle(first)
    second = group.query(topic)
    group.produce(topic, 5)
    settle(first, second)
    assert (len(first.held), len(second.held)) == (2, 2)
    assert not first.held & second.held
    group.produce(topic, 5)
    settle(first, second)
    assert missing(group, all_rows(first, second)) == []
    assert twice(all_rows(first, second)) == []


def test_a_member_that_stops_frees_its_share_at_once(group: KafkaGroup) -> None:
    topic = group.topic(4)
    first, second = group.query(topic), group.query(topic)
    group.produce(topic, 5)
    settle(first, second)
    first.stop()
    group.produce(topic, 5)
    settle(second)
    assert len(second.held) == 4
    assert missing(group, all_rows(first, second)) == []
    assert twice(all_rows(first, second)) == []


@pytest.mark.long
def test_partitions_that_are_added_are_read_from_their_start(group: KafkaGroup) -> None:
    topic = group.topic(2)
    first = group.query(topic, starting="latest", refresh="100")
    second = group.query(topic, starting="latest", refresh="100")
    settle(first, second)
    group.sandbox.add_partitions(topic, 4)
    group.produce(topic, 3)

    def all_found() -> bool:
        settle(first, second)
        return len(all_rows(first, second)) == 12

    wait_until(all_found, 30, "all rows")
    assert (len(first.held), len(second.held)) == (2, 2)
    assert missing(group, all_rows(first, second)) == []


def test_a_topic_that_appears_is_found_by_a_pattern(group: KafkaGroup) -> None:
    group.topic(1, f"{group.name}-a")
    query = group.query(pattern=f"{group.name}-.*", refresh="100")
    settle(query)
    later = group.topic(2, f"{group.name}-b")
    group.produce(later, 3)
    wait_until(lambda: bool(query.trigger()) or len(query.rows) == 6, 30, "the new topic's rows")
    settle(query)
    assert missing(group, query.rows) == []


def test_latest_is_written_at_once_for_unread_partitions(group: KafkaGroup) -> None:
    """A crash before the first batch must not skip what comes in meanwhile."""
    topic = group.topic(2)
    group.produce(topic, 5)
    first = group.query(topic, starting="latest")
    settle(first)
    first.crash()
    group.produce(topic, 5)
    second = group.query(topic, starting="latest")
    settle(second)
    assert sorted(offset for _, _, offset in second.rows) == sorted([*range(5, 10)] * 2)


@pytest.mark.parametrize("assignor", ["range", pytest.param("roundrobin", marks=pytest.mark.long)])
def test_eager_assignors_give_all_back_and_lose_nothing(group: KafkaGroup, assignor: str) -> None:
    topic = group.topic(4)
    first = group.query(topic, assignor=assignor)
    group.produce(topic, 5)
    settle(first)
    second = group.query(topic, assignor=assignor)
    group.produce(topic, 5)
    settle(first, second)
    assert (len(first.held), len(second.held)) == (2, 2)
    second.stop()
    group.produce(topic, 5)
    settle(first)
    assert missing(group, all_rows(first, second)) == []
    assert twice(all_rows(first, second)) == []


def test_members_that_assign_differently_are_refused(group: KafkaGroup) -> None:
    topic = group.topic(1)
    settle(group.query(topic))
    refused = group.query(topic, assignor="range", wait="10000")
    refused.trigger()
    with pytest.raises(ServerError, match=r"partition\.assignment\.strategy"):
        refused.trigger()


def test_eager_members_hold_nothing_while_they_join(group: KafkaGroup) -> None:
    topic = group.topic(4)
    first = group.query(topic, assignor="range")
    second = group.query(topic, assignor="range")
    settle(first, second)
    group.query(topic, assignor="range").trigger()

    def joining() -> bool:
        first.trigger()
        return first.kafka.kept.member.phase == "rebalancing"

    wait_until(joining, 10, "the first one to join again")
    assert first.held == set()
