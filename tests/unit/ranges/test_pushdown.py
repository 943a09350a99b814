"""What is taken over from Spark, and what is left to it; that no row is lost is a property."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from pyspark.sql import datasource

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.ranges.pushdown import Condition, Narrowing, Operator, narrow, push
from pyspark_zkgroup.spark.batch_source import condition_of

P0, P1 = (TopicPartition("orders", n) for n in range(2))
WHOLE = {P0: OffsetRange(0, 100), P1: OffsetRange(50, 60)}
NOON = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
NOON_US = int(NOON.timestamp()) * 1_000_000


def offsets(operator: Operator, *values: int | None, negated: bool = False) -> Condition:
    return Condition("offset", operator, values, negated)


def narrowed(*conditions: Condition) -> dict[int, tuple[int, int]]:
    found = narrow(push(conditions)[0], WHOLE)
    return {p.partition: (r.start, r.until) for p, r in found.items()}


def test_offsets_between_two_bounds_are_all_that_is_read() -> None:
    conditions = [offsets(">=", 20), offsets("<=", 55)]
    assert narrowed(*conditions) == {0: (20, 56), 1: (50, 56)}
    assert push(conditions)[1] == ()


def test_the_narrowest_of_several_bounds_counts() -> None:
    for first, second in ((55, 80), (80, 55)):
        assert narrowed(offsets("<", first), offsets("<", second)) == {0: (0, 55), 1: (50, 55)}
        assert narrowed(offsets(">=", first), offsets(">=", second)) == {0: (80, 100), 1: (60, 60)}


def test_bounds_that_exclude_each_other_leave_nothing() -> None:
    assert narrowed(offsets(">", 70), offsets("<", 20)) == {0: (20, 20), 1: (50, 50)}


@pytest.mark.parametrize(
    ("condition", "ranges", "exact"),
    [
        (offsets("=", 7), {0: (7, 8), 1: (50, 50)}, True),
        (offsets("<=>", 7), {0: (7, 8), 1: (50, 50)}, True),
        (offsets("in", 9, 7, 8), {0: (7, 10), 1: (50, 50)}, True),
        (offsets("in", 7, 9), {0: (7, 10), 1: (50, 50)}, False),
        (offsets("in", 7, None), {0: (7, 8), 1: (50, 50)}, True),
        (offsets("<", 55, negated=True), {0: (55, 100), 1: (55, 60)}, True),
        (offsets("=", 7, negated=True), {0: (0, 100), 1: (50, 60)}, False),
        (offsets("in", 7, negated=True), {0: (0, 100), 1: (50, 60)}, False),
        (offsets("in", 7, None, negated=True), {}, True),
        (offsets("=", None), {}, True),
        (offsets("=", None, negated=True), {}, True),
        (offsets("<=>", None, negated=True), {0: (0, 100), 1: (50, 60)}, True),
        (offsets("is null"), {}, True),
        (offsets("is not null"), {0: (0, 100), 1: (50, 60)}, True),
        (Condition("partition", "=", (1,)), {1: (50, 60)}, True),
        (Condition("partition", "in", (1, 5), negated=True), {0: (0, 100)}, True),
        (Condition("topic", "starts with", ("ord",)), {0: (0, 100), 1: (50, 60)}, True),
        (Condition("topic", "=", ("Orders",)), {}, True),
        (Condition("key", "=", (1,)), {0: (0, 100), 1: (50, 60)}, False),
        (Condition("key", "is null"), {0: (0, 100), 1: (50, 60)}, False),
        # Of a kind that the column does not have.
        (Condition("offset", "=", ("7",)), {0: (0, 100), 1: (50, 60)}, False),
        (Condition("partition", "=", (True,)), {0: (0, 100), 1: (50, 60)}, False),
        (Condition("timestamp", ">", (NOON_US,)), {0: (0, 100), 1: (50, 60)}, False),
    ],
)
def test_one_condition(
    condition: Condition, ranges: dict[int, tuple[int, int]], exact: bool
) -> None:
    assert narrowed(condition) == ranges
    assert push([condition])[1] == (() if exact else (0,))


@pytest.mark.parametrize(
    ("operator", "microseconds", "at_ms"),
    [
        (">=", 5000, 5),
        (">=", 4001, 5),
        (">", 5000, 6),
        (">", 4999, 5),
        ("=", 5000, 5),
        ("<", 5000, 0),
        (">=", -5000, 0),
    ],
)
def test_a_time_says_where_reading_begins(
    operator: Operator, microseconds: int, at_ms: int
) -> None:
    narrowing, left = push([Condition("timestamp", operator, (microseconds,))])
    assert narrowing == Narrowing(at_ms=at_ms)
    assert left == (0,)


def test_reading_begins_at_the_first_record_of_the_time_if_there_is_one() -> None:
    narrowing, _ = push([Condition("timestamp", ">=", (5000,)), offsets("<", 58)])
    assert narrow(narrowing, WHOLE, {P0: 12, P1: None}) == {
        P0: OffsetRange(12, 58),
        P1: OffsetRange(58, 58),
    }
    # Before the range, or behind it.
    assert narrow(narrowing, WHOLE, {P0: 70, P1: 3}) == {
        P0: OffsetRange(58, 58),
        P1: OffsetRange(50, 58),
    }


# -- as they come from Spark (4.1 and later)


def spark(name: str, *values: Any) -> Any:
    return getattr(datasource, name)(*values)


pushed = pytest.mark.skipif(
    not hasattr(datasource, "EqualTo"), reason="this Spark pushes no filters into Python sources"
)


@pushed
@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("EqualTo", (("topic",), "orders"), Condition("topic", "=", ("orders",))),
        ("EqualNullSafe", (("offset",), None), Condition("offset", "<=>", (None,))),
        ("GreaterThan", (("offset",), 7), Condition("offset", ">", (7,))),
        ("GreaterThanOrEqual", (("timestamp",), NOON), Condition("timestamp", ">=", (NOON_US,))),
        ("LessThan", (("offset",), 7), Condition("offset", "<", (7,))),
        ("LessThanOrEqual", (("partition",), 7), Condition("partition", "<=", (7,))),
        (
            "In",
            (("timestamp",), (NOON, NOON + timedelta(microseconds=1), None)),
            Condition("timestamp", "in", (NOON_US, NOON_US + 1, None)),
        ),
        ("IsNull", (("key",),), Condition("key", "is null")),
        ("IsNotNull", (("offset",),), Condition("offset", "is not null")),
        ("StringStartsWith", (("topic",), "o"), Condition("topic", "starts with", ("o",))),
        ("StringEndsWith", (("topic",), "o"), Condition("topic", "ends with", ("o",))),
        ("StringContains", (("topic",), "o"), Condition("topic", "contains", ("o",))),
    ],
)
def test_filters_of_spark(name: str, values: tuple[Any, ...], expected: Condition) -> None:
    plain = spark(name, *values)
    assert condition_of(plain) == expected
    turned = Condition(expected.column, expected.operator, expected.values, negated=True)
    assert condition_of(spark("Not", plain)) == turned


@pushed
def test_what_is_not_known_is_left_to_spark() -> None:
    class Unheard:
        attribute = ("offset",)
        value = 7

    naive = NOON.replace(tzinfo=None)
    filters: list[Any] = [
        Unheard(),
        spark("EqualTo", ("headers", "key"), "a"),
        spark("EqualTo", ("timestamp",), naive),
        spark("EqualTo", ("offset",), NOON),
    ]
    narrowing, left = push([condition_of(one) for one in filters])
    assert narrowing == Narrowing()
    assert left == (0, 1, 2, 3)
