"""The cases Spark's own Kafka source is tested with, and what is ours: a task of several ranges."""

from __future__ import annotations

import pickle

import pytest

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.ranges.splitting import Splitting, split

Range = tuple[str, int, int]


def task(name: str, *ranges: Range) -> TaskInput:
    return TaskInput(
        name,
        tuple(TaskRange(TopicPartition(t, 1), OffsetRange(at, until)) for t, at, until in ranges),
    )


def cut(*ranges: Range, tasks_min: int | None = None, rows_max: int | None = None) -> list[Range]:
    """Of ranges that are a task each, as those of Spark's source are."""
    found = split([task(r[0], r) for r in ranges], Splitting(tasks_min, rows_max))
    assert all(len(one.ranges) == 1 for one in found)
    assert [one.thread_id for one in found] == [one.ranges[0].partition.topic for one in found]
    return [
        (one.ranges[0].partition.topic, one.ranges[0].range.start, one.ranges[0].range.until)
        for one in found
    ]


def test_without_either_each_range_is_a_task() -> None:
    assert cut(("a", 1, 2)) == [("a", 1, 2)]
    assert cut(("a", 1, 2), ("b", 1, 1)) == [("a", 1, 2)]
    assert cut() == []


@pytest.mark.parametrize(
    ("tasks_min", "ranges", "expected"),
    [
        pytest.param(
            3,
            [("a", 1, 2), ("b", 1, 2), ("c", 1, 2)],
            [("a", 1, 2), ("b", 1, 2), ("c", 1, 2)],
            id="as many as asked for",
        ),
        pytest.param(
            4,
            [("a", 1, 5)],
            [("a", 1, 2), ("a", 2, 3), ("a", 3, 4), ("a", 4, 5)],
            id="one range into single offsets",
        ),
        pytest.param(
            4,
            [("a", 1, 5), ("b", 1, 21)],
            [("a", 1, 5), ("b", 1, 7), ("b", 7, 14), ("b", 14, 21)],
            id="pro rata",
        ),
        pytest.param(
            4,
            [("a", 1, 1), ("b", 1, 21)],
            [("b", 1, 6), ("b", 6, 11), ("b", 11, 16), ("b", 16, 21)],
            id="an empty one has no part in it",
        ),
        pytest.param(
            4,
            [("a", 1, 5), ("b", 1, 21), ("c", 1, 1)],
            [("a", 1, 5), ("b", 1, 7), ("b", 7, 14), ("b", 14, 21)],
            id="an empty one at the end",
        ),
        pytest.param(
            4,
            [("a", 1, 2), ("b", 1, 1001)],
            [("a", 1, 2), ("b", 1, 334), ("b", 334, 667), ("b", 667, 1001)],
            id="very uneven",
        ),
        pytest.param(
            1,
            [("a", 1, 5), ("b", 1, 21)],
            [("a", 1, 5), ("b", 1, 21)],
            id="fewer than there are",
        ),
        pytest.param(
            3,
            [("a", 1, 11)],
            [("a", 1, 4), ("a", 4, 7), ("a", 7, 11)],
            id="the last part takes the rest",
        ),
        pytest.param(
            6,
            [("a", 0, 10), ("b", 0, 10), ("c", 0, 1)],
            [
                *[("a", 0, 3), ("a", 3, 6), ("a", 6, 10)],
                *[("b", 0, 3), ("b", 3, 6), ("b", 6, 10)],
                ("c", 0, 1),
            ],
            id="rounding drops no offset",
        ),
        pytest.param(
            9,
            [("a", 0, 10000), ("b", 0, 15000), ("c", 0, 20000)],
            [
                *[("a", 0, 5000), ("a", 5000, 10000)],
                *[("b", 0, 5000), ("b", 5000, 10000), ("b", 10000, 15000)],
                *[("c", 0, 5000), ("c", 5000, 10000), ("c", 10000, 15000), ("c", 15000, 20000)],
            ],
            id="all of them large",
        ),
        pytest.param(
            6,
            [("a", 0, 500), ("b", 0, 12000), ("c", 0, 15001)],
            [
                ("a", 0, 500),
                *[("b", 0, 6000), ("b", 6000, 12000)],
                *[("c", 0, 5000), ("c", 5000, 10000), ("c", 10000, 15001)],
            ],
            id="one small",
        ),
        pytest.param(
            6,
            [("a", 0, 1), ("b", 0, 1), ("c", 0, 10000)],
            [
                ("a", 0, 1),
                ("b", 0, 1),
                *[("c", 0, 2500), ("c", 2500, 5000), ("c", 5000, 7500), ("c", 7500, 10000)],
            ],
            id="two small",
        ),
        pytest.param(
            4,
            [("a", 0, 1), ("b", 0, 1), ("c", 0, 2)],
            [("a", 0, 1), ("b", 0, 1), ("c", 0, 1), ("c", 1, 2)],
            id="one of two offsets",
        ),
        pytest.param(
            2**31 - 1, [("a", 5, 7)], [("a", 5, 6), ("a", 6, 7)], id="never less than an offset"
        ),
        pytest.param(
            2,
            [("a", 0, 2**63 - 1)],
            [("a", 0, 2**62 - 1), ("a", 2**62 - 1, 2**63 - 1)],
            id="no overflow",
        ),
    ],
)
def test_at_least_so_many(tasks_min: int, ranges: list[Range], expected: list[Range]) -> None:
    assert cut(*ranges, tasks_min=tasks_min) == expected


@pytest.mark.parametrize(
    ("rows_max", "ranges", "expected"),
    [
        pytest.param(4, [("a", 1, 5)], [("a", 1, 5)], id="just as large"),
        pytest.param(4, [("a", 1, 2)], [("a", 1, 2)], id="smaller"),
        pytest.param(4, [("a", 1, 6)], [("a", 1, 3), ("a", 3, 6)], id="one too large"),
        pytest.param(
            20,
            [("a", 1, 40), ("b", 1, 50), ("c", 1, 60)],
            [
                *[("a", 1, 20), ("a", 20, 40)],
                *[("b", 1, 17), ("b", 17, 33), ("b", 33, 50)],
                *[("c", 1, 20), ("c", 20, 40), ("c", 40, 60)],
            ],
            id="several",
        ),
        pytest.param(1, [("a", 7, 9)], [("a", 7, 8), ("a", 8, 9)], id="one each"),
    ],
)
def test_at_most_so_many_rows(rows_max: int, ranges: list[Range], expected: list[Range]) -> None:
    assert cut(*ranges, rows_max=rows_max) == expected


def test_the_rows_come_first_and_then_the_number() -> None:
    assert cut(("a", 1, 40), tasks_min=1, rows_max=20) == [("a", 1, 20), ("a", 20, 40)]
    assert cut(("a", 1, 40), tasks_min=4, rows_max=20) == [
        *[("a", 1, 10), ("a", 10, 20)],
        *[("a", 20, 30), ("a", 30, 40)],
    ]


def test_a_task_of_several_ranges_is_cut_as_one_row_of_offsets() -> None:
    one = task("m-0", ("a", 0, 10), ("b", 0, 2), ("c", 0, 0), ("d", 0, 12))
    assert split([one], Splitting(tasks_min=3)) == [
        task("m-0", ("a", 0, 8)),
        task("m-0", ("a", 8, 10), ("b", 0, 2), ("d", 0, 4)),
        task("m-0", ("d", 4, 12)),
    ]
    assert split([one], Splitting(rows_max=12)) == [
        task("m-0", ("a", 0, 10), ("b", 0, 2)),
        task("m-0", ("d", 0, 12)),
    ]


def test_the_thread_stays_named_and_what_travels_stays_equal() -> None:
    found = split([task("m-0", ("a", 0, 4)), task("m-1", ("b", 0, 8))], Splitting(tasks_min=3))
    assert [one.thread_id for one in found] == ["m-0", "m-1", "m-1"]
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(("name", "number"), [("tasks_min", 0), ("rows_max", -1)])
def test_numbers_that_would_leave_nothing(name: str, number: int) -> None:
    with pytest.raises(ValueError, match=f"{name} must be above 0, not {number}"):
        Splitting(**{name: number})
