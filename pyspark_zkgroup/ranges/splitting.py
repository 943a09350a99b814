"""Splits tasks into more tasks: `maxRecordsPerPartition` and `minPartitions`.

The ranges of a task count as one row of offsets, which is cut into pieces of nearly equal size. So
nothing is read twice or omitted, the order stays, and a task of several small ranges is split no
more than its size requires. Tasks of one range are split as in Spark's own source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.model import OffsetRange
from pyspark_zkgroup.plan import TaskInput, TaskRange


@dataclass(frozen=True, slots=True)
class Splitting:
    tasks_min: int | None = None
    rows_max: int | None = None
    """Limit per task. It counts offsets: there may be fewer rows than that, never more."""

    def __post_init__(self) -> None:
        for name in ("tasks_min", "rows_max"):
            limit = getattr(self, name)
            if limit is not None and limit < 1:
                raise ValueError(f"{name} must be above 0, not {limit}")


def split(tasks: Sequence[TaskInput], splitting: Splitting) -> list[TaskInput]:
    """Return the same offsets in the same order, each task's pieces under its name.

    First, every task with more than `rows_max` offsets is split. If there are fewer than
    `tasks_min` tasks then, the large ones are split further, in proportion to their size. A small
    one stays whole, so the result may have a few tasks more or fewer. Empty ranges, and tasks
    without any other, are dropped.
    """
    found = [task for task in map(_without_empty, tasks) if task.ranges]
    if splitting.rows_max is not None:
        rows_max = splitting.rows_max
        found = [piece for task in found for piece in _cut(task, -(-_size(task) // rows_max))]
    if splitting.tasks_min is not None and len(found) < splitting.tasks_min:
        found = _raised(found, splitting.tasks_min)
    return found


def _raised(tasks: Sequence[TaskInput], tasks_min: int) -> list[TaskInput]:
    sizes = [_size(task) for task in tasks]
    total = sum(sizes)
    large = [_part(size, total, tasks_min) > 1 for size in sizes]
    # The small tasks stay as they are: the number of the other tasks is for the large ones.
    large_total = sum(size for size, is_large in zip(sizes, large) if is_large)
    left = max(1, tasks_min - large.count(False))
    return [
        piece
        for task, size, is_large in zip(tasks, sizes, large)
        for piece in _cut(task, _part(size, large_total, left) if is_large else 1)
    ]


def _part(size: int, total: int, tasks_min: int) -> int:
    """Return the part of `tasks_min` proportional to `size`: the nearest integer, at least 1."""
    return max(1, (2 * size * tasks_min + total) // (2 * total))


def _cut(task: TaskInput, parts: int) -> Iterator[TaskInput]:
    parts = min(parts, _size(task))
    if parts <= 1:
        yield task
        return
    left = _size(task)
    rest = iter(task.ranges)
    current = next(rest)
    at = current.range.start
    for part in range(parts):
        wanted = left // (parts - part)
        left -= wanted
        ranges: list[TaskRange] = []
        while wanted > 0:
            if at == current.range.until:
                current = next(rest)
                at = current.range.start
            until = min(at + wanted, current.range.until)
            piece = OffsetRange(at, until)
            ranges.append(TaskRange(current.partition, piece, current.mark))
            wanted -= until - at
            at = until
        yield TaskInput(task.thread_id, tuple(ranges))


def _without_empty(task: TaskInput) -> TaskInput:
    ranges = tuple(r for r in task.ranges if r.range.start < r.range.until)
    return task if ranges == task.ranges else TaskInput(task.thread_id, ranges)


def _size(task: TaskInput) -> int:
    return sum(r.range.until - r.range.start for r in task.ranges)
