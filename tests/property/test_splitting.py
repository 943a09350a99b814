from __future__ import annotations

from itertools import groupby

from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.ranges.splitting import Splitting, split

LONG_MAX = 2**63 - 1


@st.composite
def tasks(draw: st.DrawFn) -> list[TaskInput]:
    """Tasks whose partitions are all different, as those of one batch are."""
    numbers = iter(range(100))
    sizes = st.one_of(st.integers(0, 3), st.integers(0, 60))
    made = []
    for thread in range(draw(st.integers(0, 5))):
        ranges = []
        for size in draw(st.lists(sizes, max_size=4)):
            start = draw(st.one_of(st.integers(0, 50), st.integers(0, LONG_MAX - 60)))
            partition = TopicPartition("t", next(numbers))
            ranges.append(TaskRange(partition, OffsetRange(start, start + size)))
        made.append(TaskInput(f"m-{thread}", tuple(ranges)))
    return made


numbers = st.one_of(st.none(), st.integers(1, 40), st.integers(1, LONG_MAX))
splittings = st.builds(Splitting, numbers, numbers)


def joined(tasks: list[TaskInput]) -> list[TaskInput]:
    """With the pieces of each thread put together again."""
    found = []
    for thread, pieces in groupby(tasks, key=lambda one: one.thread_id):
        ranges: list[TaskRange] = []
        for r in (r for piece in pieces for r in piece.ranges):
            if ranges and ranges[-1].partition == r.partition:
                assert ranges[-1].range.until == r.range.start
                ranges[-1] = TaskRange(
                    r.partition, OffsetRange(ranges[-1].range.start, r.range.until)
                )
            else:
                ranges.append(r)
        found.append(TaskInput(thread, tuple(ranges)))
    return found


@given(tasks(), splittings)
def test_every_offset_is_read_once_by_its_thread_and_in_order(
    given_tasks: list[TaskInput], splitting: Splitting
) -> None:
    whole = [
        TaskInput(one.thread_id, tuple(r for r in one.ranges if len(r.range)))
        for one in given_tasks
    ]
    found = split(given_tasks, splitting)
    assert joined(found) == [one for one in whole if one.ranges]
    for one in found:
        partitions = [r.partition for r in one.ranges]
        assert len(set(partitions)) == len(partitions)
        assert all(len(r.range) for r in one.ranges)


@given(tasks(), splittings)
def test_the_limits_hold(given_tasks: list[TaskInput], splitting: Splitting) -> None:
    found = split(given_tasks, splitting)
    sizes = [sum(len(r.range) for r in one.ranges) for one in found]
    rows_max = splitting.rows_max or LONG_MAX
    assert all(1 <= size <= rows_max for size in sizes)
    if splitting.tasks_min is None:
        capped = [sum(len(r.range) for r in one.ranges) for one in given_tasks]
        assert len(found) == sum(-(-size // rows_max) for size in capped)
    elif found:
        # A hint: rounding may take half a task from each of those that were there.
        least = split(given_tasks, Splitting(None, splitting.rows_max))
        assert len(found) >= min(splitting.tasks_min, sum(sizes)) - len(least)
        assert len(found) >= len(least)


@given(tasks(), splittings)
def test_the_same_tasks_are_cut_in_the_same_way(
    given_tasks: list[TaskInput], splitting: Splitting
) -> None:
    assert split(given_tasks, splitting) == split(given_tasks, splitting)
