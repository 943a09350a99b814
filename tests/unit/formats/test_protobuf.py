"""Protobuf becomes columns. tests/spark/test_protobuf_equality.py compares them with Spark's."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal as Number
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
from pyspark_zkgroup.formats.protobuf.native import ProtobufParser
from pyspark_zkgroup.formats.protobuf.program import steps
from pyspark_zkgroup.formats.protobuf.sources import messages_of
from pyspark_zkgroup.formats.protobuf.types import spark_type
from pyspark_zkgroup.registry.access import RegisteredSchema
from pyspark_zkgroup.schema import Column, Decimal, Map, Struct, Type
from tests.harness.compiled_proto import compiled
from tests.harness.protobuf_rows import message_class

ORDER = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "google/protobuf/duration.proto";
message Order {
  int64 id = 1;
  optional string user = 2;
  repeated int32 lines = 3;
  map<string, Item> items = 4;
  oneof pay { string card = 5; Item voucher = 6; }
  google.protobuf.Timestamp at = 7;
  google.protobuf.Duration took = 8;
  State state = 9;
  uint64 large = 10;
  enum State { NEW = 0; DONE = 1; }
}
message Item { double price = 1; bytes data = 2; uint32 count = 3; }
"""
OLD = """
syntax = "proto2";
message Old {
  required int32 id = 1;
  optional string name = 2 [default = "none"];
  optional State state = 3 [default = DONE];
  optional bytes data = 4 [default = "\\001"];
  optional float f = 5 [default = 1.5];
  repeated group Part = 6 { optional int32 x = 1; required int32 y = 2; }
  repeated State states = 7;
  optional Inner inner = 8;
  map<int32, Inner> inners = 9;
  enum State { NEW = 0; DONE = 1; }
  message Inner { required int32 z = 1; repeated State states = 2; }
}
"""
DATA = compiled(ORDER)
AT = datetime(2023, 11, 14, 22, 13, 20, 123_456, timezone.utc)


def parser_of(source: str, name: str, kind: Type | None = None) -> tuple[ProtobufParser, Type]:
    message = messages_of(RegisteredSchema(source, kind="PROTOBUF")).named(name)
    wanted = kind or spark_type(message)
    program = tuple(steps(message, wanted, "value"))
    return ProtobufParser(wanted, ProtobufFormat("value", None, program)), wanted


def parsed(
    source: str, name: str, *values: bytes | None, kind: Type | None = None
) -> tuple[list[Any], list[str | None]]:
    parser, _ = parser_of(source, name, kind)
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in parser.parse(pa.array(values, pa.binary())):
        piece.values.validate(full=True)
        rows += piece.values.to_pylist()
        reasons += piece.reasons.to_pylist()
        assert piece.bad == len(piece.reasons) - piece.reasons.null_count
    return rows, reasons


def order(**given: Any) -> bytes:
    return bytes(message_class(DATA, "shop.Order")(**given).SerializeToString())


def old(source: str = OLD, **given: Any) -> bytes:
    return bytes(message_class(compiled(source), "Old")(**given).SerializePartialToString())


def test_a_message_becomes_a_row() -> None:
    value = order(
        id=7,
        user="",
        lines=[1, -2],
        items={"a": {"price": 1.5, "data": b"x", "count": 2**32 - 1}},
        card="",
        at=AT,
        took=timedelta(seconds=-1, microseconds=-5),
        state=1,
        large=2**64 - 1,
    )
    rows, reasons = parsed(ORDER, "Order", value, b"", None)
    assert reasons == [None, None, None]
    assert rows[0] == {
        "id": 7,
        "user": "",
        "lines": [1, -2],
        "items": [("a", {"price": 1.5, "data": b"x", "count": -1})],
        "card": "",
        "voucher": None,
        "at": AT,
        "took": timedelta(seconds=-1, microseconds=-5),
        "state": "DONE",
        "large": -1,
    }
    empty: dict[str, Any] = {**dict.fromkeys(rows[0]), "lines": [], "items": []}
    assert rows[1:] == [empty, None]


def test_only_the_named_fields_are_read() -> None:
    kind = Struct(
        (
            Column("large", Decimal(20, 0)),
            Column("state", "int"),
            Column("items", Map("string", Struct((Column("count", "bigint"),)))),
            Column("at", Struct((Column("seconds", "bigint"),))),
        )
    )
    value = order(id=1, large=2**64 - 1, state=1, items={"a": {"count": 2**32 - 1}}, at=AT)
    rows, reasons = parsed(ORDER, "shop.Order", value, kind=kind)
    assert reasons == [None]
    assert rows == [
        {
            "large": Number(2**64 - 1),
            "state": 1,
            "items": [("a", {"count": 2**32 - 1})],
            "at": {"seconds": int(AT.timestamp())},
        }
    ]


def test_a_field_that_is_not_named_still_clears_its_oneof() -> None:
    kind = Struct((Column("card", "string"),))
    values = (order(card="x") + order(voucher={"count": 1}), order(voucher={}) + order(card="x"))
    assert parsed(ORDER, "Order", *values, kind=kind) == (
        [{"card": None}, {"card": "x"}],
        [None] * 2,
    )


def test_fields_that_occur_twice_become_one() -> None:
    value = order(id=1, lines=[1], voucher={"price": 1.0, "count": 3}) + order(
        id=2, lines=[2, 3], voucher={"count": 4}
    )
    (found,), _ = parsed(ORDER, "Order", value)
    assert (found["id"], found["lines"]) == (2, [1, 2, 3])
    assert found["voucher"] == {"price": 1.0, "data": None, "count": 4}
    (found,), _ = parsed(ORDER, "Order", value + order(card="x") + order(voucher={"price": 2.0}))
    assert (found["card"], found["voucher"]["count"]) == (None, None)


def test_an_open_enum_keeps_numbers_without_a_name() -> None:
    (found,), reasons = parsed(ORDER, "Order", b"\x48\x63")
    assert (found["state"], reasons) == ("UNKNOWN_ENUM_VALUE_State_99", [None])


def test_proto2_has_defaults_groups_and_closed_enums() -> None:
    rows, reasons = parsed(
        OLD,
        "Old",
        old(id=0, part=[{"x": 1, "y": 2}], inners={3: {"z": 1}}),
        old(id=1, name="", state=0, data=b"", f=0.0, states=[1, 0]),
        b"\x08\x01\x42\x04\x08\x01\x10\x63",  # no value of an enum, in a message
    )
    defaults = {"name": "none", "state": "DONE", "data": b"\1", "f": 1.5, "inner": None}
    assert reasons == [None] * 3
    assert rows[0] == {
        "id": 0,
        **defaults,
        "part": [{"x": 1, "y": 2}],
        "states": [],
        "inners": [(3, {"z": 1, "states": []})],
    }
    assert [rows[1][name] for name in ("name", "state", "data", "f")] == ["", "NEW", b"", 0.0]
    assert rows[1]["states"] == ["DONE", "NEW"]
    assert rows[2]["inner"] == {"z": 1, "states": []}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "id: it is required, but missing"),
        (b"\x08\x01\x42\x00", "inner.z: it is required, but missing"),
        (b"\x08\x01\x33\x08\x01\x34", "part.y: it is required, but missing"),
        (b"\x08\x01\x4a\x02\x08\x05", "inners.value.z: it is required, but missing"),
        (b"\x08\x01\x18\x63", "state: 99 is no value of State"),
        (b"\x08\x01\x3a\x01\x63", "states: 99 is no value of State"),
        (b"\x0d\x01\x00\x00\x00", "id: it is written as another type"),
        (b"\x08\x01\x12\x05a", "name: it claims 5 bytes where 1 are left"),
        (b"\x08\x01\x12\xff\xff\xff\xff\xff\x01a", "name: it claims -1 bytes where 1 are left"),
        (b"\x08", "id: a value in it does not end"),
        (b"\x08" + b"\xff" * 10, "id: a value in it does not end"),
        (b"\x08\x01\x2d\x00", "f: a value in it does not end"),
        (b"\x00\x01", "a field in it has the number 0"),
        (b"\xa7\x06", "a field in it has the wire type 7"),
        (b"\x08\x01\x33\x08\x01", "part: a value in it does not end"),
        (b"\x08\x01\x33\x08\x01\x3c", "part: a group in it ends that did not begin"),
        (b"\x08\x01\xa4\x06", "a group in it ends that did not begin"),
    ],
)
def test_a_bad_message_is_null_and_named(value: bytes, reason: str) -> None:
    rows, reasons = parsed(OLD, "Old", value, b"\x08\x05")
    assert reasons == [reason, None]
    assert rows[0] is None
    assert rows[1]["id"] == 5


def test_text_must_be_utf8_in_proto3_alone() -> None:
    _, reasons = parsed(ORDER, "Order", b"\x12\x01\xff")
    assert reasons == ["user: it is not UTF-8"]
    rows, reasons = parsed(OLD, "Old", b"\x08\x01\x12\x04a\xed\xa0\x80")
    assert (rows[0]["name"], reasons) == ("a\ufffd", [None])


def test_times_that_spark_has_no_value_for_are_bad() -> None:
    value = b"\x3a\x0a\x08" + b"\xff" * 8 + b"\x7f"
    _, reasons = parsed(ORDER, "Order", value)
    assert reasons == [f"at: {2**63 - 1} s are too many"]


LIST = 'syntax = "proto3"; message List { List next = 1; int32 id = 2; repeated Wide wide = 3; }'
WIDE = "message Wide {" + "".join(f"int64 c{at} = {at + 1};" for at in range(200)) + "}"
ONEOF = (
    """syntax = "proto3"; message A { oneof o { W a = 1; W b = 2; } }
message W {"""
    + "".join(f"int64 c{at} = {at + 1};" for at in range(1000))
    + "}"
)
ID = Struct((Column("id", "int"),))


def _nested(depth: int) -> bytes:
    return b"\x23" * depth + b"\x24" * depth


@pytest.mark.parametrize(
    ("source", "name", "kind", "value", "reason"),
    [
        (LIST + WIDE, "List", ID, _nested(100_000), "it is nested too deeply"),
        (LIST + WIDE, "List", ID, _nested(100) + b"\x10\x01", None),
        (LIST + WIDE, "List", ID, b"\x1a\xff\xff\xff\xff\x07", "claims 2147483647 bytes"),
        (ONEOF, "A", None, b"\x0a\x00\x12\x00" * 300_000, "it takes more than 268435456 bytes"),
    ],
    ids=["deep", "not too deep", "length", "oneof"],
)
def test_a_hostile_record_takes_little_time(
    source: str, name: str, kind: Type | None, value: bytes, reason: str | None
) -> None:
    begun = time.process_time()
    _, reasons = parsed(source, name, value, kind=kind)
    assert reasons == [None] if reason is None else reason in str(reasons[0])
    assert time.process_time() - begun < 5


def test_empty_messages_of_many_columns_are_charged_for() -> None:
    source = 'syntax = "proto3"; message A { repeated Wide wide = 3; }' + WIDE
    begun = time.process_time()
    _, reasons = parsed(source, "A", b"\x1a\x00" * 2_000_000)
    assert reasons == ["wide: it takes more than 268435456 bytes of columns"]
    assert time.process_time() - begun < 5


def test_a_large_batch_comes_in_pieces() -> None:
    source = 'syntax = "proto3"; message A { repeated Wide wide = 3; }' + WIDE
    parser, _ = parser_of(source, "A")
    pieces = list(parser.parse(pa.array([b"\x1a\x00" * 40_000] * 4, pa.binary())))
    assert [len(piece.values) for piece in pieces] == [1, 1, 1, 1]
    assert [piece.bad for piece in pieces] == [0, 0, 0, 0]
