"""JSON becomes columns. tests/spark/test_json_equality.py compares the rows with Spark's."""

from __future__ import annotations

import json
import time
from datetime import datetime, timezone
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.json.native import JsonParser
from pyspark_zkgroup.formats.json.types import SCALARS
from pyspark_zkgroup.formats.json.zone import offsets
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type

ORDER = Struct(
    (
        Column("id", "bigint"),
        Column("tags", Array("string")),
        Column("counts", Map("string", "int")),
        Column("inner", Struct((Column("x", "double"), Column("ok", "boolean")))),
    )
)
NOTHING: dict[str, Any] = dict.fromkeys(["id", "tags", "counts", "inner"])


def parsed(
    kind: Type, *values: bytes | None, zone: str = "UTC"
) -> tuple[list[Any], list[str | None]]:
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in JsonParser(kind, zone).parse(pa.array(values, pa.binary())):
        piece.values.validate(full=True)
        rows += piece.values.to_pylist()
        reasons += piece.reasons.to_pylist()
        assert piece.bad == len(piece.reasons) - piece.reasons.null_count
    return rows, reasons


def test_a_record_becomes_a_row() -> None:
    text = b'{"id":7,"tags":["a",null],"counts":{"x":1},"inner":{"ok":true,"x":1e3},"other":[{}]}'
    (row,), (reason,) = parsed(ORDER, text)
    assert reason is None
    assert row == {
        "id": 7,
        "tags": ["a", None],
        "counts": [("x", 1)],
        "inner": {"x": 1000.0, "ok": True},
    }


@pytest.mark.parametrize("value", [None, b"", b" \n"])
def test_no_value_is_null_and_not_bad(value: bytes | None) -> None:
    assert parsed(ORDER, value) == ([None], [None])


@pytest.mark.parametrize(
    ("value", "kept", "reason"),
    [
        (b'{"id":"x","tags":["a"]}', {"tags": ["a"]}, "id: found a string, expected BIGINT"),
        (b'{"id":1,"counts":{"a":1,"b":"x"}}', {"id": 1}, "counts: found a string, expected INT"),
        (b'{"id":5,"id":"x"}', {"id": 5}, "id: found a string, expected BIGINT"),
        (
            b'{"inner":{"x":"q","ok":true},"id":1}',
            {"id": 1, "inner": {"x": None, "ok": True}},
            "inner.x: found a string, expected DOUBLE",
        ),
        (b'{"id":1', {}, "not JSON: it ends early at byte 7"),
        (b'{"id":01}', {}, "not JSON: a number is malformed at byte 8"),
        (b'{"id":1,}', {}, "not JSON: a field's name is missing at byte 8"),
        (b"\xef\xbb\xbf{}", {}, "not JSON: a value is missing at byte 0"),
        (b"[1]", {}, "found an array, expected an object"),
        (b"null", {}, "found null, expected an object"),
    ],
)
def test_a_bad_record_keeps_what_can_be_read(
    value: bytes, kept: dict[str, Any], reason: str
) -> None:
    assert parsed(ORDER, value) == ([{**NOTHING, **kept}], [reason])


NAMES = ("a", "b" * 13, "c" * 14, "d" * 40, "e" * 300, "f\u20ac", "g h", "h'", 'i"j', "k\\l")


@pytest.mark.parametrize("form", ['{"%s":1,"z":2}', ' { "%s" : 1 , "z":2} ', '{ "%s": 1, "z": 2}'])
@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_fields_are_found_by_their_names(name: str, form: str) -> None:
    """Those with an escape too, the next ones of the schema as well as others."""
    kind = Struct((Column("y", "int"), Column(name, "int"), Column("z", "int")))
    for prefix in ("", '"y":0,', '"x":{"z":7},"y":0,'):
        text = form.replace("{", "{" + prefix, 1) % json.dumps(name)[1:-1]
        y = 0 if prefix else None
        assert parsed(kind, text.encode()) == ([{"y": y, name: 1, "z": 2}], [None])
    cut = (form % json.dumps(name)[1:-1]).rstrip()[:-1].encode()
    (row,), (reason,) = parsed(kind, cut)
    assert row == {"y": None, name: None, "z": None}
    assert reason == f"not JSON: it ends early at byte {len(cut)}"


@pytest.mark.parametrize("other", ['"az":1', '"a', '"a"', '"a":', '"a"1', '"A":1', '"b":1,"b":2'])
def test_what_only_begins_like_the_next_field_is_another(other: str) -> None:
    kind = Struct((Column("a", "int"), Column("b", "int")))
    padding = b" " * 32
    (row,), reasons = parsed(kind, b"{" + other.encode() + b"}" + padding)
    assert row == {"a": None, "b": 2 if "2" in other else None}
    assert (reasons == [None]) is (other in ('"az":1', '"A":1', '"b":1,"b":2'))


def test_long_names_are_compared_to_their_ends() -> None:
    kind = Struct((Column("n" * 40, "int"),))
    values = [f'{{"{"n" * 39}{last}":1}}'.encode() for last in "nm"]
    assert parsed(kind, *values) == ([{"n" * 40: 1}, {"n" * 40: None}], [None, None])


def test_binary_may_be_in_single_quotes() -> None:
    rows, reasons = parsed(Struct((Column("b", "binary"),)), b"{'b':'QUJD'}", b"{'b':'Q'}")
    assert rows == [{"b": b"ABC"}, {"b": None}]
    assert reasons == [None, "b: found a string, expected BINARY"]


def test_the_last_field_of_a_name_counts_and_what_follows_the_record_does_not() -> None:
    (row,), reasons = parsed(ORDER, b'{"tags":["a"],"id":1,"tags":["b","c"],"id":2} and more')
    assert (row["id"], row["tags"], reasons) == (2, ["b", "c"], [None])


def test_numbers_are_rounded_half_up_and_must_fit() -> None:
    kind = Struct((Column("d", Decimal(5, 2)), Column("t", "tinyint")))
    rows, reasons = parsed(kind, b'{"d":1.005,"t":-128}', b'{"d":"1,000.5"}', b'{"d":1e3}')
    assert [row["d"] for row in rows] == [Number("1.01"), None, None]
    assert [reason is None for reason in reasons] == [True, False, False]


@pytest.mark.parametrize(
    ("zone", "expected"), [("UTC", 12), ("+02:00", 10), ("Europe/Berlin", 10), ("GMT-1", 13)]
)
def test_a_time_without_a_zone_is_in_the_given_one(zone: str, expected: int) -> None:
    kind = Struct((Column("t", "timestamp"),))
    (row,), reasons = parsed(kind, b'{"t":"2024-07-01 12:00:00"}', zone=zone)
    assert row["t"] == datetime(2024, 7, 1, expected, tzinfo=timezone.utc)
    assert reasons == [None]


def test_what_java_may_read_otherwise_is_refused() -> None:
    times = Struct((Column("t", "timestamp"),))
    _, reasons = parsed(
        times,
        b'{"t":"1969-12-31"}',
        b'{"t":"12:00"}',
        b'{"t":"2024-07-01 12:00:00 Asia/Tokyo"}',
        zone="Europe/Berlin",
    )
    assert ["t: not supported: " in str(reason) for reason in reasons] == [True] * 3
    rows, _ = parsed(times, b'{"t":"1969-12-31"}', b'{"t":"2969-07-01"}', zone="+01:00")
    assert all(row["t"] is not None for row in rows)
    _, reasons = parsed(Struct((Column("s", "string"),)), b'{"s":[0.30000000000000004]}')
    assert reasons == [
        "s: not supported: a fraction as STRING that versions of Java write differently"
    ]


def test_the_far_future_repeats_the_last_400_years() -> None:
    kind = Struct((Column("t", "timestamp"),))
    rows, _ = parsed(
        kind, b'{"t":"2899-07-01 12:00:00"}', b'{"t":"2899-12-01 12:00:00"}', zone="Europe/Berlin"
    )
    assert [row["t"].hour for row in rows] == [10, 11]


@pytest.mark.parametrize("zone", ["", "Nowhere/Town", "+19:00", "../etc/passwd"])
def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    with pytest.raises(ValueError):
        offsets(zone)


@pytest.mark.parametrize(
    "value",
    [
        b"[" * 1_000_000,
        b'{"tags":' * 500_000,
        b'{"id":' + b"9" * 1_000_000 + b"}",
        b'{"' + b"n" * 1_000_000 + b'":1}',
        b'{"id":1' + b',"id":"x"' * 200_000 + b"}",
        b'{"tags":["a"]' + b',"tags":["b","c"]' * 100_000 + b"}",
        b'{"tags":[' + b"[]," * 300_000 + b"1]}",
        b'{"s":"' + b"\\u0000" * 200_000 + b'"}',
    ],
    ids=["arrays", "objects", "digits", "name", "bad", "twice", "elements", "escapes"],
)
def test_a_hostile_record_takes_little_time(value: bytes) -> None:
    begun = time.process_time()
    rows, _ = parsed(ORDER, value, b'{"id":1}')
    assert rows[1]["id"] == 1
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("character", ["n", "\u20ac", r"\u0041", r"\n"])
def test_a_name_of_50000_characters_is_read(character: str) -> None:
    values = [f'{{"{character * count}":1,"id":7}}'.encode() for count in (50_000, 50_001)]
    rows, reasons = parsed(ORDER, *values)
    assert [row["id"] for row in rows] == [7, None]
    assert reasons[0] is None
    assert "a field's name is too long" in str(reasons[1])


def test_a_record_that_grows_without_end_is_bad() -> None:
    """Three bytes become a row of many columns."""
    wide = Array(Struct(tuple(Column(f"c{n}", "bigint") for n in range(200))))
    rows, reasons = parsed(wide, b"[" + b"{}," * 400_000 + b"{}]", b"[]")
    assert rows == [None, []]
    assert reasons == ["it takes more than 268435456 bytes of columns", None]


def test_nulls_of_a_wide_type_count_as_what_they_take() -> None:
    wide = Array(Struct(tuple(Column(f"c{n}", "bigint") for n in range(200))))
    _, reasons = parsed(wide, b"[" + b"null," * 200_000 + b"null]")
    assert reasons == ["it takes more than 268435456 bytes of columns"]


def test_a_large_batch_comes_in_pieces() -> None:
    wide = Array(Struct(tuple(Column(f"c{n}", "bigint") for n in range(200))))
    column = pa.array([b"[" + b"{}," * 9_999 + b"{}]"] * 10, pa.binary())
    pieces = list(JsonParser(wide, "UTC").parse(column.slice(1, 8)))
    assert sum(len(piece.values) for piece in pieces) == 8
    assert len(pieces) > 1


def test_every_scalar_has_an_arrow_type_of_its_builder() -> None:
    kind = Struct(tuple(Column(name, name) for name in SCALARS))
    rows, reasons = parsed(kind, b"{}")
    assert rows == [dict.fromkeys(SCALARS)]
    assert reasons == [None]
