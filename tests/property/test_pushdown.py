"""Less is read, and what Spark then makes of it is the same: against SQL's logic, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.ranges.pushdown import Condition, Operator, Value, narrow, push, times_wanted

PARTITIONS = tuple(TopicPartition(topic, n) for topic in ("a", "ab", "b") for n in range(2))
LONG = 12


@dataclass(frozen=True)
class Row:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: int | None = None


def lets_through(condition: Condition, row: Row) -> bool:
    """SQL's three values by the book: only what is true comes through."""
    verdict = judged(condition, getattr(row, condition.column))
    if condition.negated and verdict is not None:
        verdict = not verdict
    return verdict is True


def judged(condition: Condition, value: Value) -> bool | None:
    operator = condition.operator
    if operator == "is null":
        return value is None
    if operator == "is not null":
        return value is not None
    if operator == "<=>":
        return value == condition.values[0]
    if operator == "in":
        verdicts = [equals(value, other) for other in condition.values]
        if True in verdicts:
            return True
        return None if None in verdicts else False
    other = condition.values[0]
    if value is None or other is None:
        return None
    if isinstance(value, str):
        assert isinstance(other, str)
        return {
            "=": value == other,
            "<": value < other,
            "<=": value <= other,
            ">": value > other,
            ">=": value >= other,
            "starts with": value.startswith(other),
            "ends with": value.endswith(other),
            "contains": other in value,
        }[operator]
    assert isinstance(value, int)
    assert isinstance(other, int)
    return {
        "=": value == other,
        "<": value < other,
        "<=": value <= other,
        ">": value > other,
        ">=": value >= other,
    }[operator]


def equals(value: Value, other: Value) -> bool | None:
    return None if value is None or other is None else value == other


def log_of(seed: int) -> list[Row]:
    """Times of whole milliseconds, -1 for a record without one, in no order; keys may be null."""
    chance = Random(seed)
    return [
        Row(
            p.topic,
            p.partition,
            offset,
            1000 * chance.randint(-1, 5),
            chance.choice([None, 0, 1, 2]),
        )
        for p in PARTITIONS
        for offset in range(chance.randint(0, LONG))
    ]


# Drawn one by one the rows would be most of the work, and they need no shrinking.
LOGS = st.integers(0, 10**9).map(log_of)
BOUNDS = st.lists(st.integers(-1, LONG), min_size=len(PARTITIONS), max_size=len(PARTITIONS))
COLUMNS = ("offset",) * 4 + ("timestamp",) * 3 + ("topic", "partition", "key")


@st.composite
def conditions(draw: st.DrawFn) -> Condition:
    column = draw(st.sampled_from(COLUMNS))
    by_column: dict[str, st.SearchStrategy[Value]] = {
        "topic": st.sampled_from(["a", "ab", "b", "", "c"]),
        "partition": st.integers(-1, 3),
        "offset": st.integers(-2, LONG + 3),
        # Between two milliseconds, too.
        "timestamp": st.integers(-2500, 6500),
        "key": st.integers(0, 3),
    }
    known = by_column[column]
    value = st.one_of(st.none(), known) if draw(st.integers(0, 4)) == 0 else known
    names: list[Operator] = ["=", "<=>", "<", "<=", ">", ">=", "in", "is null", "is not null"]
    if column == "topic":
        names += ["starts with", "ends with", "contains"]
    operator = draw(st.sampled_from(names))
    negated = draw(st.booleans())
    if operator in ("is null", "is not null"):
        return Condition(column, operator, (), negated)
    if operator == "in":
        values = tuple(draw(st.lists(value, max_size=4)))
        return Condition(column, operator, values, negated)
    return Condition(column, operator, (draw(value),), negated)


def first_at(rows: Sequence[Row], partition: TopicPartition, at_ms: int) -> int | None:
    """As a broker looks it up: in the whole log, whatever the range."""
    return next(
        (
            row.offset
            for row in rows
            if (row.topic, row.partition) == (partition.topic, partition.partition)
            and row.timestamp >= at_ms * 1000
        ),
        None,
    )


def within(rows: Sequence[Row], ranges: dict[TopicPartition, OffsetRange]) -> list[Row]:
    found = []
    for row in rows:
        wanted = ranges.get(TopicPartition(row.topic, row.partition))
        if wanted is not None and wanted.start <= row.offset < wanted.until:
            found.append(row)
    return found


@settings(max_examples=6 * settings().max_examples)
@given(st.lists(conditions(), max_size=3), LOGS, st.data())
def test_rows_are_those_without_pushdown(
    filters: list[Condition], rows: list[Row], data: st.DataObject
) -> None:
    whole = {}
    starts, ends = data.draw(BOUNDS), data.draw(BOUNDS)
    for partition, start, end in zip(PARTITIONS, starts, ends, strict=True):
        if start >= 0:  # else it is not read at all
            whole[partition] = OffsetRange(start, max(start, end))
    expected = [row for row in within(rows, whole) if all(lets_through(c, row) for c in filters)]

    narrowing, left = push(filters)
    times = times_wanted(narrowing, whole)
    assert all(at_ms > 0 for at_ms in times.values())
    at_times = {p: first_at(rows, p, at_ms) for p, at_ms in times.items()}
    narrowed = narrow(narrowing, whole, at_times)
    kept = [filters[place] for place in left]
    found = [row for row in within(rows, narrowed) if all(lets_through(c, row) for c in kept)]

    assert found == expected
    for partition, wanted in narrowed.items():
        assert whole[partition].start <= wanted.start
        assert wanted.until <= max(wanted.start, whole[partition].until)


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(conditions(), max_size=3), LOGS)
def test_a_time_that_cannot_be_looked_up_changes_no_row(
    filters: list[Condition], rows: list[Row]
) -> None:
    whole = {p: OffsetRange(0, LONG) for p in PARTITIONS}
    narrowing, left = push(filters)
    kept = [filters[place] for place in left]
    found = within(rows, narrow(narrowing, whole, {}))
    assert [row for row in found if all(lets_through(c, row) for c in kept)] == [
        row for row in rows if all(lets_through(c, row) for c in filters)
    ]
