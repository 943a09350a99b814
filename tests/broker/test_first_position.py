"""Where a group begins that has no offsets yet: decided once, written at once, for whole topics."""

from __future__ import annotations

import pytest

from tests.group import Group, all_rows, missing, settle, twice
from tests.spark_order import Checkpoint


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


def test_offsets_given_by_the_user(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 4)
    a = group.query(topic, starting=f'{{"{topic}": {{"0": 1, "1": -1, "2": -2}}}}')
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
