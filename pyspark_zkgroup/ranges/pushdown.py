"""Narrows a batch read by conditions on topic, partition, offset and timestamp.

A condition is taken over from Spark only if reading less gives exactly the rows that it accepts;
Spark applies the others to each row. Conditions on time always stay with Spark: records are not in
the order of their times, so a time only says where reading may begin.

None of the four columns is ever null. SQL's null enters through the value of a condition: a
comparison with null is neither true nor false, negated or not, and accepts no row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark_zkgroup.model import OffsetRange, TopicPartition

Operator = Literal[
    "=",
    "<=>",
    "<",
    "<=",
    ">",
    ">=",
    "in",
    "is null",
    "is not null",
    "starts with",
    "ends with",
    "contains",
]
Value = int | str | None

_INVERTED: Mapping[str, Operator] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition: one value to compare with, several for `in`, none for tests for null.

    A time is in microseconds since 1970.
    """

    column: str
    operator: Operator
    values: tuple[Value, ...] = ()
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Narrowing:
    """What is read: partitions for which all `of_partition` hold; of these, offsets from `start` up
    to `until`, beginning with the first record of `at_ms` or later.
    """

    of_partition: tuple[Condition, ...] = ()
    start: int = 0
    until: int | None = None
    at_ms: int = 0
    nothing: bool = False


def push(conditions: Sequence[Condition]) -> tuple[Narrowing, tuple[int, ...]]:
    """Return how the conditions narrow what is read, and the indexes of those left to Spark."""
    narrowing = Narrowing()
    left: list[int] = []
    for place, condition in enumerate(conditions):
        narrowing, exact = _pushed(narrowing, condition)
        if not exact:
            left.append(place)
    return narrowing, tuple(left)


def times_wanted(
    narrowing: Narrowing, ranges: Mapping[TopicPartition, OffsetRange]
) -> dict[TopicPartition, int]:
    """Return the time to look up in each range, as narrowed without it."""
    if narrowing.at_ms <= 0:  # a record without a time has -1, and lower numbers mean other things
        return {}
    return {p: narrowing.at_ms for p, r in narrow(narrowing, ranges).items() if len(r) > 0}


def narrow(
    narrowing: Narrowing,
    ranges: Mapping[TopicPartition, OffsetRange],
    at_times: Mapping[TopicPartition, int | None] | None = None,
) -> dict[TopicPartition, OffsetRange]:
    """Narrow the ranges.

    `at_times` has the offsets found for `times_wanted` after the ranges were decided: the first of
    that time or later, or None if no record up to the end has it.
    """
    narrowed = {}
    for partition, whole in ranges.items():
        if narrowing.nothing or not all(_is_kept(c, partition) for c in narrowing.of_partition):
            continue
        start, until = max(whole.start, narrowing.start), whole.until
        if narrowing.until is not None:
            until = min(until, narrowing.until)
        if at_times is not None and partition in at_times:
            found = at_times[partition]
            start = until if found is None else max(start, found)
        start = max(whole.start, min(start, until))
        narrowed[partition] = OffsetRange(start, max(start, until))
    return narrowed


def _pushed(narrowing: Narrowing, condition: Condition) -> tuple[Narrowing, bool]:
    kind = {"topic": str, "partition": int, "offset": int, "timestamp": int}.get(condition.column)
    known = [value for value in condition.values if value is not None]
    if kind is None or any(type(value) is not kind for value in known):
        return narrowing, False
    if _lets_nothing_through(condition, known):
        return replace(narrowing, nothing=True), True
    if not known:
        return narrowing, True
    if condition.column in ("topic", "partition"):
        return replace(narrowing, of_partition=(*narrowing.of_partition, condition)), True
    numbers = [value for value in known if isinstance(value, int)]
    if condition.column == "offset":
        return _offsets(narrowing, condition, numbers)
    return _time(narrowing, condition, numbers), False


def _lets_nothing_through(condition: Condition, known: Sequence[Value]) -> bool:
    """Return whether the condition accepts no value at all of a column that is never null."""
    has_null = len(known) < len(condition.values)
    if condition.operator == "is null":
        return not condition.negated
    if condition.operator == "is not null":
        return condition.negated
    if condition.operator == "<=>":
        return has_null and not condition.negated
    if condition.operator == "in":
        return has_null if condition.negated else not known
    return has_null


def _offsets(
    narrowing: Narrowing, condition: Condition, numbers: Sequence[int]
) -> tuple[Narrowing, bool]:
    low, high = min(numbers), max(numbers)
    operator = condition.operator
    if condition.negated:
        if operator not in _INVERTED:
            return narrowing, False
        operator = _INVERTED[operator]
    start, until, exact = 0, narrowing.until, True
    if operator in ("=", "<=>", "in"):
        start, until = low, high + 1
        exact = len(set(numbers)) == high - low + 1
    elif operator in (">", ">="):
        start = low + (operator == ">")
    elif operator in ("<", "<="):
        until = low + (operator == "<=")
    else:
        return narrowing, False
    if narrowing.until is not None and until is not None:
        until = min(until, narrowing.until)
    return replace(narrowing, start=max(start, narrowing.start), until=until), exact


def _time(narrowing: Narrowing, condition: Condition, numbers: Sequence[int]) -> Narrowing:
    """Narrow by time. Records have milliseconds: the first possible one is the next whole one."""
    operator = condition.operator
    if condition.negated:
        if operator not in _INVERTED:
            return narrowing
        operator = _INVERTED[operator]
    if operator == ">":
        at_ms = numbers[0] // 1000 + 1
    elif operator in ("=", "<=>", ">=", "in"):
        at_ms = -(-min(numbers) // 1000)
    else:
        return narrowing
    return replace(narrowing, at_ms=max(narrowing.at_ms, at_ms))


def _is_kept(condition: Condition, partition: TopicPartition) -> bool:
    """Return whether the partition passes a condition, without null, on its own columns."""
    column: int | str
    column = partition.topic if condition.column == "topic" else partition.partition
    known = [value for value in condition.values if value is not None]
    if condition.operator == "in":
        holds = column in known
    else:
        holds = _compares(column, condition.operator, known[0])
    return holds is not condition.negated


def _compares(column: int | str, operator: Operator, value: Value) -> bool:
    if isinstance(column, str) and isinstance(value, str):
        # Spark compares bytes of UTF-8, which are in the order of the code points.
        texts = {
            "starts with": column.startswith(value),
            "ends with": column.endswith(value),
            "contains": value in column,
        }
        if operator in texts:
            return texts[operator]
        return _ordered(operator, (column > value) - (column < value))
    assert isinstance(column, int)
    assert isinstance(value, int)
    return _ordered(operator, (column > value) - (column < value))


def _ordered(operator: Operator, sign: int) -> bool:
    return {
        "=": sign == 0,
        "<=>": sign == 0,
        "<": sign < 0,
        "<=": sign <= 0,
        ">": sign > 0,
        ">=": sign >= 0,
    }[operator]
