"""The cases Spark's own Kafka source is tested with, and those it once got wrong."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.limits import share
from pyspark_zkgroup.model import TopicPartition

LONG_MAX = 2**63 - 1


def shared(limit: int | None, starts: list[int], ends: list[int]) -> list[int]:
    partitions = [TopicPartition("t", n) for n in range(len(starts))]
    found = share(limit, dict(zip(partitions, starts)), dict(zip(partitions, ends)))
    assert list(found) == partitions
    return list(found.values())


@pytest.mark.parametrize(
    ("limit", "starts", "ends", "until"),
    [
        pytest.param(None, [0, 3], [10, 7], [10, 7], id="no limit"),
        pytest.param(14, [0, 3], [10, 7], [10, 7], id="the whole backlog fits exactly"),
        pytest.param(10, [0, 0], [100, 100], [5, 5], id="equal backlogs"),
        pytest.param(10, [100, 50], [1100, 1050], [105, 55], id="counted from the start"),
        pytest.param(10, [0, 0, 0], [100, 10, 1], [9, 1, 1], id="small ones still move"),
        pytest.param(10, [0, 0], [997, 3], [9, 1], id="rounded down"),
        pytest.param(1, [0] * 5, [9] * 5, [1] * 5, id="one each beyond the limit"),
        pytest.param(10, [0, 5], [100, 5], [10, 5], id="an empty one takes nothing"),
        pytest.param(10, [5, 5], [5, 5], [5, 5], id="nothing at all to read"),
        pytest.param(10, [], [], [], id="nothing held"),
        pytest.param(10, [50, 0], [20, 100], [50, 10], id="an end below the start stands still"),
        pytest.param(None, [50], [20], [50], id="also without a limit"),
        # A backlog times a limit is far above 64 bits, and above what a double tells apart.
        pytest.param(LONG_MAX, [0, 0], [LONG_MAX, LONG_MAX], [2**62 - 1] * 2, id="no overflow"),
        pytest.param(LONG_MAX - 1, [0], [LONG_MAX], [LONG_MAX - 1], id="no loss of precision"),
        pytest.param(
            3, [LONG_MAX - 5, 0], [LONG_MAX, 5], [LONG_MAX - 4, 1], id="near the last offset"
        ),
    ],
)
def test_until(limit: int | None, starts: list[int], ends: list[int], until: list[int]) -> None:
    assert shared(limit, starts, ends) == until


def test_a_partition_without_a_known_end_stands_still() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share(10, {a: 3, b: 4}, {b: 5}) == {a: 3, b: 5}
    assert share(None, {a: 3, b: 4}, {b: 5}) == {a: 3, b: 5}


def test_what_is_not_held_is_left_out() -> None:
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share(10, {a: 0}, {a: 100, b: 10**6}) == {a: 10}


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_must_let_something_through(limit: int) -> None:
    with pytest.raises(ValueError, match="would never read anything"):
        shared(limit, [0], [1])
