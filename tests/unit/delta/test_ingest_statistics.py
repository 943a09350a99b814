"""Statistics hold for every row of a file, and no value of a record makes them fail."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyspark_zkgroup.delta.direct.files import indexed
from pyspark_zkgroup.delta.direct.statistics import statistics

YEAR_10000_US = 253_402_300_800_000_000
YEAR_1_US = -62_135_596_800_000_000
NOT_UTF8 = pa.array([b"a", b"\xff\xfe"], pa.binary()).view(pa.string())


def shown(table: pa.Table, *paths: str) -> dict[str, Any]:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    found = json.loads(statistics(pq.read_metadata(io.BytesIO(sink.getvalue())), paths))
    assert found["numRecords"] == table.num_rows
    return dict(found)


def bounds(values: pa.Array) -> tuple[Any, Any]:
    found = shown(pa.table({"c": values}), "c")
    assert found["nullCount"] == {"c": 0}
    return found["minValues"].get("c"), found["maxValues"].get("c")


def times(*microseconds: int, zone: str | None = "UTC") -> pa.Array:
    return pa.array(microseconds, pa.int64()).cast(pa.timestamp("us", tz=zone))


@pytest.mark.parametrize(
    "values",
    [
        times(0, YEAR_10000_US),
        times(0, YEAR_10000_US - 1),  # rounded up, it is beyond the year 9999
        times(YEAR_1_US - 1, 0),
        times(2**62, zone=None),
        pa.array([0, 10**7], pa.int32()).cast(pa.date32()),
        pa.array([-(10**6)], pa.int32()).cast(pa.date32()),
        NOT_UTF8,
    ],
)
def test_a_value_that_the_log_cannot_have_leaves_the_column_without_bounds(
    values: pa.Array,
) -> None:
    assert bounds(values) == (None, None)


def test_times_before_1970_are_rounded_outwards() -> None:
    low, high = bounds(times(-1_500, -500))
    assert (low, high) == ("1969-12-31T23:59:59.998Z", "1970-01-01T00:00:00.000Z")
    low, high = bounds(times(YEAR_1_US, YEAR_10000_US - 1000))
    assert (low, high) == ("0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")


@pytest.mark.parametrize(
    ("text", "precision", "scale", "bound"),
    [
        ("9" * 38, 38, 0, int("9" * 38)),
        ("-3.25", 10, 2, -3.25),
        ("7.00", 10, 2, 7),
        # The nearest float is below the first and above the second.
        ("12345678901234567890123.5", 38, 5, None),
        ("0.12345678901234567891", 38, 20, None),
    ],
)
def test_a_bound_of_a_decimal_is_exact(
    text: str, precision: int, scale: int, bound: float | None
) -> None:
    values = pa.array([Decimal(text)], pa.decimal128(precision, scale))
    assert bounds(values) == (bound, bound)


def test_a_name_with_a_dot_has_no_statistics() -> None:
    kind = pa.struct([("a", pa.string()), ("a.b", pa.int64()), ("c", pa.struct([("d.e", "int8")]))])
    schema = pa.schema([pa.field("v", kind), pa.field("x.y", pa.int64())])
    assert indexed(schema) == ("v.a",)
    rows = pa.Table.from_pylist([{"v": {"a": "x", "a.b": 1}}], schema=schema)
    assert shown(rows, *indexed(schema))["minValues"] == {"v": {"a": "x"}}


def test_a_name_with_a_dot_is_not_taken_for_a_field() -> None:
    kind = pa.struct([("a", pa.struct([("b", pa.int64())])), ("a.b", pa.int64())])
    schema = pa.schema([pa.field("v", kind)])
    assert indexed(schema) == ("v.a.b",)
    rows = pa.Table.from_pylist([{"v": {"a": {"b": 7}, "a.b": 1}}], schema=schema)
    assert shown(rows, *indexed(schema))["minValues"] == {}
