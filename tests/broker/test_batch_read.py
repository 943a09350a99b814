"""Batch reads on real servers, without Spark: what they take, and that they leave no trace."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from kafka import KafkaProducer

from pyspark_zkgroup.errors import (
    BadZnodeError,
    DataLossError,
    OptionError,
    SubscriptionError,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.batch_read import BatchTasks, batch_tasks
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.ranges.pushdown import Condition, Narrowing, push
from pyspark_zkgroup.tasks import reading as task
from tests.fakes.still_clock import StillClock
from tests.harness.group import Group
from tests.harness.producing import produce, wait_for_end
from tests.harness.retention import delete_records

FIRST_MS, SECOND_MS, THIRD_MS = (1_700_000_000_000 + n * 1000 for n in range(3))
NO_RECORD_MS = 4_000_000_000_000

Row = tuple[int, int]


def read(group: Group, topic: str, /, **options: str | None) -> list[Row]:
    """Partition and offset of each row; None takes an option away."""
    return rows_of(taken(group, topic, options))


def taken(
    group: Group, topic: str, options: Mapping[str, str | None], narrowing: Narrowing | None = None
) -> BatchTasks:
    given: dict[str, str | None] = {**group.options(topic), "startingOffsets": None, **options}
    kept = {name: text for name, text in given.items() if text is not None}
    return batch_tasks(parse(kept, "batch"), narrowing, StillClock())


def rows_of(batch: BatchTasks) -> list[Row]:
    rows = [
        (partition, offset)
        for one in batch.tasks
        for part in task.read(one, batch.settings)
        for partition, offset in zip(
            part.column("partition").to_pylist(), part.column("offset").to_pylist(), strict=True
        )
    ]
    assert len(rows) == len(set(rows))
    return sorted(rows)


def rows(ranges: Mapping[int, tuple[int, int]]) -> list[Row]:
    return [(p, offset) for p, (start, until) in ranges.items() for offset in range(start, until)]


def json_of(topic: str, *values: int) -> str:
    numbers = ", ".join(f'"{n}": {value}' for n, value in enumerate(values))
    return f'{{"{topic}": {{{numbers}}}}}'


def commit(group: Group, topic: str, offsets: Mapping[int, bytes]) -> None:
    for partition, raw in offsets.items():
        group.client.create(group.offset_path(topic, partition), raw, makepath=True)


@pytest.fixture
def timed(group: Group) -> str:
    """Two partitions with three records each of the first, second and third time."""
    topic = group.topic(2)
    for partition in range(2):
        for at_ms in (FIRST_MS, SECOND_MS, THIRD_MS):
            tp = TopicPartition(topic, partition)
            produce(group.sandbox.bootstrap_servers, tp, [b"v"] * 3, timestamp_ms=at_ms)
    return topic


# -- the group


def test_it_starts_at_the_groups_offsets_and_elsewhere_at_earliest(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 5)
    commit(group, topic, {0: b"3", 1: b"5", 2: b"-1"})
    assert read(group, topic) == rows({0: (3, 5), 1: (5, 5), 2: (0, 5)})


def test_given_starts_hold_where_the_group_has_no_offset(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    commit(group, topic, {0: b"3"})
    starts = json_of(topic, 1, 2)
    assert read(group, topic, startingOffsets=starts) == rows({0: (3, 5), 1: (2, 5)})
    alone = {"startingOffsets": starts, "group.id": None}
    assert read(group, topic, **alone) == rows({0: (1, 5), 1: (2, 5)})


def test_it_leaves_no_trace(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    commit(group, topic, {0: b"3"})
    before = group.dump("/consumers")
    stranger = f"unknown-{uuid.uuid4().hex[:8]}"
    read(group, topic)
    read(group, topic, **{"group.id": stranger})
    assert group.dump("/consumers") == before


def test_it_takes_nothing_from_a_member(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 4)
    member = group.query(topic)
    member.until(8)
    member.trigger()
    group.produce(topic, 2)
    lives = group.owner_lives(topic)
    assert read(group, topic) == rows({0: (4, 6), 1: (4, 6)})
    assert group.owner_lives(topic) == lives
    member.until(12)


def test_an_offset_that_is_no_number_is_refused(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 1)
    commit(group, topic, {0: b"soon"})
    with pytest.raises(BadZnodeError, match=r"/offsets/.*/0 holds b'soon', which is not an offset"):
        read(group, topic)


def test_with_protocol_kafka_the_groups_offsets_are_those_of_kafka(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    # ZooKeeper has the offsets of another group, which happens to have the same name.
    commit(group, topic, {0: b"1", 1: b"1"})
    options = {"protocol": "kafka", "zookeeper.connect": None, "zookeeper.session.timeout.ms": None}
    kept = {**group.options(topic), **options}
    brokers = ClusterView(parse({n: t for n, t in kept.items() if t is not None}, "either"))
    try:
        offsets = {TopicPartition(topic, 0): 3}
        assert brokers.commit_group_offsets(offsets, "", timeout_s=10.0) == {}
    finally:
        brokers.close()
    assert read(group, topic, **options) == rows({0: (3, 5), 1: (0, 5)})
    alone = {**options, "group.id": None}
    assert read(group, topic, **alone) == rows({0: (0, 5), 1: (0, 5)})
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 4})
    with pytest.raises(DataLossError, match=r"set the group's offset of .*-0 in Kafka to"):
        read(group, topic, **options)


# -- where it ends


def test_it_ends_at_the_given_offsets(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 5)
    assert read(group, topic, endingOffsets="latest") == rows(dict.fromkeys(range(3), (0, 5)))
    ends = json_of(topic, 2, -1, 0)
    assert read(group, topic, endingOffsets=ends) == rows({0: (0, 2), 1: (0, 5), 2: (0, 0)})


def test_an_end_before_the_groups_offset_leaves_nothing_to_read(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    commit(group, topic, {0: b"4"})
    ends = json_of(topic, 2, 2)
    assert read(group, topic, endingOffsets=ends) == rows({0: (4, 4), 1: (0, 2)})


def test_an_end_before_a_given_start_is_refused(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    with pytest.raises(OptionError, match="beyond its end 5"):
        read(group, topic, startingOffsets=json_of(topic, -2, 6))


def test_an_end_that_is_not_there_yet(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 5)
    ends = {"endingOffsets": json_of(topic, 9)}
    with pytest.raises(DataLossError, match=r"ends at 9 in .*-0, which can be read up to 5 only"):
        read(group, topic, **ends)
    assert read(group, topic, **ends, failOnDataLoss="false") == rows({0: (0, 5)})


@pytest.mark.parametrize("name", ["startingOffsets", "endingOffsets"])
def test_every_partition_is_named(group: Group, name: str) -> None:
    topic = group.topic(2)
    with pytest.raises(OptionError, match=f"'{name}' .*does not name {topic}-1"):
        read(group, topic, **{name: json_of(topic, 0)})
    with pytest.raises(OptionError, match=f"'{name}' names {topic}-2"):
        read(group, topic, **{name: json_of(topic, 0, 0, 0)})


# -- times


def test_from_a_time_to_a_time(group: Group, timed: str) -> None:
    second, third = str(SECOND_MS), str(THIRD_MS)
    half = {0: (3, 6), 1: (3, 6)}
    assert read(group, timed, startingTimestamp=second, endingTimestamp=third) == rows(half)
    by_partition = {
        "startingOffsetsByTimestamp": json_of(timed, SECOND_MS, SECOND_MS),
        "endingOffsetsByTimestamp": json_of(timed, THIRD_MS, THIRD_MS),
    }
    assert read(group, timed, **by_partition) == rows(half)
    assert read(group, timed, startingTimestamp=second) == rows({0: (3, 9), 1: (3, 9)})
    assert read(group, timed, endingTimestamp=second) == rows({0: (0, 3), 1: (0, 3)})
    # Between two records, and an end that says itself where.
    between = str(FIRST_MS + 1)
    assert read(
        group, timed, startingTimestamp=between, endingOffsets=json_of(timed, -1, 4)
    ) == rows({0: (3, 9), 1: (3, 4)})


def test_what_goes_before_what(group: Group, timed: str) -> None:
    by_partition = {"startingOffsetsByTimestamp": json_of(timed, SECOND_MS, SECOND_MS)}
    offsets = {"startingOffsets": "earliest"}
    every = {"startingTimestamp": str(THIRD_MS)}
    assert read(group, timed, **every, **by_partition, **offsets) == rows({0: (6, 9), 1: (6, 9)})
    assert read(group, timed, **by_partition, **offsets) == rows({0: (3, 9), 1: (3, 9)})
    ends = {
        "endingTimestamp": str(SECOND_MS),
        "endingOffsetsByTimestamp": json_of(timed, THIRD_MS, THIRD_MS),
        "endingOffsets": json_of(timed, 1, 1),
    }
    assert read(group, timed, **ends) == rows({0: (0, 3), 1: (0, 3)})
    del ends["endingTimestamp"]
    assert read(group, timed, **ends) == rows({0: (0, 6), 1: (0, 6)})


def test_a_starting_time_that_no_record_has(group: Group, timed: str) -> None:
    starts = {"startingOffsetsByTimestamp": json_of(timed, SECOND_MS, NO_RECORD_MS)}
    with pytest.raises(OptionError, match=f"no record has .*: {NO_RECORD_MS} in {timed}-1"):
        read(group, timed, **starts)
    starts["startingOffsetsByTimestampStrategy"] = "latest"
    assert read(group, timed, **starts) == rows({0: (3, 9), 1: (9, 9)})
    # Where the group has an offset no time is looked up.
    del starts["startingOffsetsByTimestampStrategy"]
    commit(group, timed, {1: b"8"})
    assert read(group, timed, **starts) == rows({0: (3, 9), 1: (8, 9)})


def test_an_ending_time_that_no_record_has(group: Group, timed: str) -> None:
    ends = {"endingOffsetsByTimestamp": json_of(timed, SECOND_MS, NO_RECORD_MS)}
    assert read(group, timed, **ends) == rows({0: (0, 3), 1: (0, 9)})


# -- losses


def test_records_gone_before_the_groups_offset_was_reached(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 6)
    commit(group, topic, {0: b"1", 1: b"1"})
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 4})
    with pytest.raises(DataLossError, match=f"3 records of {topic}-0 were deleted"):
        read(group, topic)
    assert read(group, topic, failOnDataLoss="false") == rows({0: (4, 6), 1: (1, 6)})


def test_records_gone_that_a_given_start_means(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 6)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 4})
    starts = {"startingOffsets": json_of(topic, 1)}
    with pytest.raises(DataLossError, match="starts at 4: 3 records are gone"):
        read(group, topic, **starts)
    assert read(group, topic, **starts, failOnDataLoss="false") == rows({0: (4, 6)})
    # Earliest is whatever is there.
    assert read(group, topic, startingOffsets="earliest") == rows({0: (4, 6)})


def test_a_topic_that_is_not_there(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 2)
    absent = f"{topic},not-there-{topic}"
    with pytest.raises(SubscriptionError, match="no topic 'not-there"):
        read(group, absent)
    assert read(group, absent, failOnDataLoss="false") == rows({0: (0, 2)})


def test_an_offset_beyond_its_log(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 2)
    commit(group, topic, {0: b"7"})
    with pytest.raises(DataLossError, match="is 7, but the log ends at 2"):
        read(group, topic)
    assert read(group, topic, failOnDataLoss="false") == rows({0: (0, 2)})


# -- transactions, tasks, filters


@pytest.fixture
def transactional(group: Group) -> Iterator[Any]:
    producer = KafkaProducer(
        bootstrap_servers=group.sandbox.bootstrap_servers, transactional_id=f"t-{group.name}"
    )
    producer.init_transactions()
    yield producer
    producer.close(timeout=30)


def test_transactions(group: Group, transactional: Any) -> None:
    topic = group.topic(1)
    committed_only = {"kafka.isolation.level": "read_committed"}

    def send() -> None:
        transactional.begin_transaction()
        for _ in range(5):
            transactional.send(topic, b"v", partition=0)
        transactional.flush()

    send()
    assert read(group, topic) == rows({0: (0, 5)})
    assert read(group, topic, **committed_only) == []
    # The group's offset may lie behind a transaction that is still open.
    commit(group, topic, {0: b"4"})
    assert read(group, topic, **committed_only) == []
    group.client.delete(group.offset_path(topic, 0))
    transactional.commit_transaction()
    send()
    transactional.abort_transaction()
    send()
    transactional.commit_transaction()
    wait_for_end(group.sandbox.bootstrap_servers, TopicPartition(topic, 0), 18)
    first, last = rows({0: (0, 5)}), rows({0: (12, 17)})
    assert read(group, topic, **committed_only) == first + last
    assert read(group, topic) == first + rows({0: (6, 11)}) + last


def test_as_many_tasks_as_threads(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 40)
    options: dict[str, str | None] = {"threads": "8"}
    assert len(taken(group, topic, options).tasks) == 8
    options["minPartitions"] = "10"
    assert len(taken(group, topic, options).tasks) == 10
    options["maxRecordsPerPartition"] = "4"
    assert len(taken(group, topic, options).tasks) == 20
    assert len(rows_of(taken(group, topic, options))) == 80


def test_a_pattern_and_single_partitions(group: Group) -> None:
    topic = group.topic(2, f"{group.name}-one")
    other = group.topic(1, f"{group.name}-other")
    for name in (topic, other):
        group.produce(name, 3)
    pattern = {"subscribe": None, "subscribePattern": f"{group.name}-on."}
    assert read(group, topic, **pattern) == rows({0: (0, 3), 1: (0, 3)})
    single = {"subscribe": None, "assign": f'{{"{topic}": [1]}}'}
    assert read(group, topic, **single) == rows({1: (0, 3)})


def test_a_condition_on_the_time_begins_at_its_first_record(group: Group, timed: str) -> None:
    narrowing, left = push(
        [
            Condition("timestamp", ">=", (SECOND_MS * 1000 - 500,)),
            Condition("partition", "=", (1,)),
            Condition("offset", "<", (8,)),
        ]
    )
    assert left == (0,)
    assert rows_of(taken(group, timed, {}, narrowing)) == rows({1: (3, 8)})
    late, _ = push([Condition("timestamp", ">", (THIRD_MS * 1000,))])
    assert rows_of(taken(group, timed, {}, late)) == []
