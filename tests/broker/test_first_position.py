"""Where a group begins that has no offsets yet: decided once, written at once, for whole topics."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from tests.harness.group import Group, all_rows, missing, settle, twice
from tests.harness.producing import produce
from tests.harness.spark_order import Checkpoint
from tests.harness.waiting import wait_until


def test_latest_is_resolved_once_and_survives_a_crash(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 4)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, starting="latest", session="1000")
    assert a.trigger() == 0
    assert group.offsets(topic) == dict.fromkeys(range(3), b"4")
    a.crash()
    group.produce(topic, 2)
    b = group.query(topic, checkpoint, starting="latest", session="1000")
    b.until(6)
    assert sorted(offset for _, _, offset in b.rows) == [4, 4, 4, 5, 5, 5]


def test_a_second_newcomer_neither_skips_nor_rereads(group: Group) -> None:
    topic = group.topic(4)
    group.produce(topic, 4)
    a = group.query(topic, starting="latest")
    b = group.query(topic, starting="latest")
    a.trigger()
    group.produce(topic, 2)
    settle(a, b)
    rows = all_rows(a, b)
    assert len(rows) == 8
    assert twice(rows) == []
    assert {offset for _, _, offset in rows} == {4, 5}


@pytest.mark.parametrize("fail", ["true", "false"])
@pytest.mark.parametrize("option", ["subscribe", "subscribePattern"])
def test_offsets_given_by_the_user(group: Group, option: str, fail: str) -> None:
    topic = group.topic(3)
    group.produce(topic, 4)
    given = {"starting": f'{{"{topic}": {{"0": 1, "1": -1, "2": -2}}}}', "failOnDataLoss": fail}
    a = group.query_of(group.options(**{option: topic}, **given))
    a.until(7)
    assert sorted((p, o) for _, p, o in a.rows) == [
        *((0, o) for o in (1, 2, 3)),
        *((2, o) for o in range(4)),
    ]


def test_the_groups_offset_wins_over_any_starting_offset(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 4)
    group.client.create(group.offset_path(topic, 0), b"3", makepath=True)
    a = group.query(topic, starting="earliest")
    a.until(1)
    assert a.rows == [(topic, 0, 3)]


@pytest.mark.parametrize("finished", [True, False])
def test_lost_zookeeper_data_is_rebuilt_from_the_checkpoint(group: Group, finished: bool) -> None:
    topic = group.topic(2)
    group.produce(topic, 4)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, maxOffsets="4")
    a.until(8)
    a.trigger()
    a.stop()
    group.produce(topic, 4)
    if not finished:
        checkpoint.commits.discard(len(checkpoint.offsets) - 1)
    group.client.delete(f"/consumers/{group.name}", recursive=True)
    b = group.query(topic, checkpoint, starting="latest")
    b.until(8 if finished else 12)
    rows = all_rows(a, b)
    assert missing(group, rows) == []
    again = twice(rows)
    assert again == ([] if finished else sorted(a.batches[-1][1]))


FIRST_MS, SECOND_MS = 1_700_000_000_000, 1_700_000_001_000
BY_TIME = {"startingOffsets": "latest", "startingTimestamp": str(SECOND_MS)}


def produce_at(group: Group, topic: str, partition: int, *times_ms: int) -> None:
    for at_ms in times_ms:
        tp = TopicPartition(topic, partition)
        produce(group.sandbox.bootstrap_servers, tp, [b"v"] * 3, timestamp_ms=at_ms)


@pytest.mark.parametrize("option", ["subscribe", "subscribePattern"])
def test_a_time_is_looked_up_once_and_written_for_the_whole_topic(
    group: Group, option: str
) -> None:
    topic = group.topic(3)
    read = {option: topic}
    for partition in range(3):
        produce_at(group, topic, partition, FIRST_MS, SECOND_MS)
    a = group.query_of(group.options(**read, **BY_TIME))
    b = group.query_of(group.options(**read, **BY_TIME))
    a.trigger()
    assert group.offsets(topic) == dict.fromkeys(range(3), b"3")
    settle(a, b)
    rows = all_rows(a, b)
    assert sorted((p, o) for _, p, o in rows) == [(p, o) for p in range(3) for o in (3, 4, 5)]
    # A partition that appears later is read from its start, whatever its records' times.
    group.sandbox.add_partitions(topic, 4)
    produce_at(group, topic, 3, FIRST_MS)

    def is_read() -> bool:
        settle(a, b)
        return group.offsets(topic).get(3) == b"3"

    wait_until(is_read, 20.0, "the new partition")
    assert sorted(o for _, p, o in all_rows(a, b) if p == 3) == [0, 1, 2]


@pytest.mark.parametrize("option", ["subscribe", "subscribePattern"])
def test_a_time_for_each_partition_and_one_that_no_record_has(group: Group, option: str) -> None:
    topic = group.topic(2)
    read = {option: topic}
    for partition in range(2):
        produce_at(group, topic, partition, FIRST_MS, SECOND_MS)
    times = {
        "startingOffsetsByTimestamp": f'{{"{topic}": {{"0": {SECOND_MS}, "1": {SECOND_MS + 1}}}}}'
    }
    a = group.query_of(group.options(**read, **times))
    with pytest.raises(OptionError, match=f"no record has .*: {SECOND_MS + 1} in {topic}-1"):
        a.trigger()
    assert group.offsets(topic) == {}
    times["startingOffsetsByTimestampStrategy"] = "latest"
    b = group.query_of(group.options(**read, **times))
    b.trigger()
    assert [(p, o) for _, p, o in b.rows] == [(0, o) for o in (3, 4, 5)]
    assert group.offsets(topic) == {0: b"3", 1: b"6"}


def test_the_groups_offset_wins_over_any_time(group: Group) -> None:
    topic = group.topic(1)
    produce_at(group, topic, 0, FIRST_MS, SECOND_MS)
    group.client.create(group.offset_path(topic, 0), b"1", makepath=True)
    a = group.query(topic, startingTimestamp=str(SECOND_MS + 1))
    a.until(5)
    assert [o for _, _, o in a.rows] == [1, 2, 3, 4, 5]
