"""Messages of Protobuf come from a real registry, by the id and the place that a record names."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.shaping import RowShape
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.schema import Column, Struct
from pyspark_zkgroup.spark.pinned import chosen_versions, pin, with_versions
from tests.harness.compiled_proto import compiled
from tests.harness.given_options import LEAST
from tests.harness.protobuf_rows import message_class
from zkgroup_sandbox.registry import Registry

OLD = """syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
message Order {
  int64 id = 1;
  string user = 2;
  google.protobuf.Timestamp at = 3;
  message Line { int32 count = 1; }
}
message Refund { int64 id = 1; }
"""
NEW = OLD.replace("string user = 2;", "string customer = 2;\n  repeated Line lines = 4;")
FIRST, REFUND, LINE = b"\0", b"\2\2", b"\4\0\0"


def subject() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}-value"


def framed(number: int, place: bytes, source: str, name: str, **given: Any) -> bytes:
    message = message_class(compiled(source), f"shop.{name}")(**given)
    return b"\0" + number.to_bytes(4, "big") + place + bytes(message.SerializeToString())


def shaped(registry: Registry, name: str, **more: str) -> Any:
    given = {"value.format": "protobuf", "schema.registry.url": registry.url, **more}
    return parse({**LEAST, "subscribe": name.removesuffix("-value"), **given})


def rows(shape: RowShape, *values: bytes) -> tuple[list[Any], list[str | None]]:
    ((_, form),) = shape.formats
    (column,) = (one for one in shape.columns if one.name == "value")
    pieces = list(form.parser(column.type).parse(pa.array(values, pa.binary())))
    return (
        [row for piece in pieces for row in piece.values.to_pylist()],
        [reason for piece in pieces for reason in piece.reasons.to_pylist()],
    )


def test_columns_of_the_newest_schema_read_older_records_by_their_numbers(
    registry: Registry, tmp_path: Path
) -> None:
    name = subject()
    old = registry.register(name, OLD, kind="PROTOBUF")
    options = shaped(registry, name, checkpointLocation=f"file://{tmp_path}/checkpoint")
    versions = chosen_versions(options)
    pin(options, versions.values())
    first = with_versions(options, versions).columns
    assert str(first.default[1].type) == "struct<id:bigint,user:string,at:timestamp>"

    new = registry.register(name, NEW, kind="PROTOBUF")
    values = (
        framed(old, FIRST, OLD, "Order", id=1, user="ann", at={"seconds": 1}),
        framed(new, FIRST, NEW, "Order", id=2, customer="bob", lines=[{"count": 3}]),
        framed(old, REFUND, OLD, "Refund", id=3),
        framed(new, LINE, NEW, "Order.Line", count=4),
        framed(10**6, FIRST, OLD, "Order", id=5),
        b"no frame",
    )
    found, reasons = rows(first.shape(first.default), *values)
    assert [row["user"] for row in found[:2]] == ["ann", "bob"]
    assert reasons[:5] == [
        None,
        None,
        "it is a shop.Refund, not a shop.Order",
        "it is a shop.Order.Line, not a shop.Order",
        "the registry has no schema with the id 1000000",
    ]
    assert "it does not begin with a zero byte" in str(reasons[5])
    assert chosen_versions(options) == versions

    unpinned = shaped(registry, name)
    columns = with_versions(unpinned, chosen_versions(unpinned)).columns
    found, reasons = rows(columns.shape(columns.default), *values[:2])
    assert [(row["customer"], row["lines"]) for row in found] == [
        ("ann", []),
        ("bob", [{"count": 3}]),
    ]
    assert reasons == [None, None]


def test_named_columns_are_those_of_the_schema_that_a_record_names(registry: Registry) -> None:
    name = subject()
    old = registry.register(name, OLD, kind="PROTOBUF")
    wanted = Column("value", Struct((Column("count", "int"), Column("id", "bigint"))))
    shape = shaped(registry, name).columns.shape((wanted,))
    values = (
        framed(old, FIRST, OLD, "Order", id=1),
        framed(old, REFUND, OLD, "Refund", id=2),
        framed(old, LINE, OLD, "Order.Line", count=3),
    )
    found, reasons = rows(shape, *values)
    assert [(row["id"], row["count"]) for row in found] == [(1, None), (2, None), (None, 3)]
    assert reasons == [None] * 3
    other = Column("value", Struct((Column("id", "string"),)))
    _, reasons = rows(shaped(registry, name).columns.shape((other,)), values[0])
    assert reasons == ["value.id is an int64, which cannot be read as STRING"]


def test_a_message_of_the_schema_may_be_named(registry: Registry) -> None:
    name = subject()
    old = registry.register(name, OLD, kind="PROTOBUF")
    options = shaped(registry, name, **{"value.protobuf.message": "shop.Order.Line"})
    columns = with_versions(options, chosen_versions(options)).columns
    assert str(columns.default[1].type) == "struct<count:int>"
    values = (framed(old, LINE, OLD, "Order.Line", count=3), framed(old, FIRST, OLD, "Order", id=1))
    _, reasons = rows(columns.shape(columns.default), *values)
    assert reasons == [None, "it is a shop.Order, not a shop.Order.Line"]


def test_a_schema_may_import_others_of_the_registry(registry: Registry) -> None:
    part, whole = subject(), subject()
    registry.register(
        part, 'syntax = "proto3"; package shop; message Item { double price = 1; }', kind="PROTOBUF"
    )
    text = 'syntax = "proto3"; package shop; import "item.proto"; message Cart { Item item = 1; }'
    number = registry.register(
        whole,
        text,
        kind="PROTOBUF",
        references=[{"name": "item.proto", "subject": part, "version": 1}],
    )
    options = shaped(registry, whole)
    columns = with_versions(options, chosen_versions(options)).columns
    assert str(columns.default[1].type) == "struct<item:struct<price:double>>"
    value = b"\0" + number.to_bytes(4, "big") + FIRST + b"\x0a\x00"
    found, reasons = rows(columns.shape(columns.default), value)
    assert (found, reasons) == ([{"item": {"price": None}}], [None])


def test_a_schema_of_another_kind_is_refused(registry: Registry) -> None:
    name = subject()
    number = registry.register(name, json.dumps({"type": "fixed", "name": "f", "size": 1}))
    options = shaped(registry, name)
    with pytest.raises(OptionError, match="its schema is AVRO, not PROTOBUF"):
        _ = with_versions(options, chosen_versions(options)).columns.default
    wanted = Column("value", Struct((Column("id", "bigint"),)))
    shape = options.columns.shape((wanted,))
    _, reasons = rows(shape, b"\0" + number.to_bytes(4, "big") + FIRST)
    assert reasons == ["its schema is AVRO, not PROTOBUF"]
