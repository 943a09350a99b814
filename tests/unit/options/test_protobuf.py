"""Options of columns of Protobuf: what they give, and what they are refused with."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
from pyspark_zkgroup.formats.protobuf.sources import described
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.schema import Column, Struct, Type, spark_ddl
from tests.harness.compiled_proto import compiled
from tests.harness.given_options import LEAST, refusal

ORDER = """syntax = "proto3"; package shop;
message Order { int64 id = 1; string user = 2; }
message Tree { int32 id = 1; Tree left = 2; }
"""
DATA = compiled(ORDER)
DESCRIPTOR = base64.b64encode(DATA).decode()
PROTOBUF = {
    **LEAST,
    "value.format": "protobuf",
    "value.protobuf.descriptor": DESCRIPTOR,
    "value.protobuf.message": "shop.Order",
}


def test_the_message_gives_the_column_its_type() -> None:
    key = {name.replace("value", "key"): text for name, text in PROTOBUF.items()}
    columns = parse({**PROTOBUF, **key, "key.protobuf.message": "Order"}).columns.default
    assert spark_ddl(columns).startswith(
        "key struct<`id`:bigint,`user`:string>, value struct<`id`:bigint,`user`:string>, topic "
    )


def test_a_descriptor_may_lie_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "order.desc"
    path.write_bytes(DATA)
    given = parse({**PROTOBUF, "value.protobuf.descriptor": str(path)})
    assert given.columns == parse(PROTOBUF).columns


def test_named_columns_are_a_part_of_the_message() -> None:
    wanted = (Column("value", Struct((Column("id", "bigint"),))),)
    given = {**PROTOBUF, "value.protobuf.framing": "Confluent"}
    ((name, form),) = parse(given).columns.shape(wanted).formats
    assert isinstance(form, ProtobufFormat)
    assert (name, form.message, form.framing) == ("value", "shop.Order", "confluent")
    assert form.steps is not None


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("string", "value is a shop.Order, which cannot be read as STRING"),
        (Struct((Column("id", "int"),)), "value.id is an int64, which cannot be read as INT"),
        (Struct((Column("x", "int"),)), "value.x is not in shop.Order, which has id, user"),
    ],
)
def test_columns_that_the_message_does_not_give_are_refused(kind: Type, reason: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(PROTOBUF).columns.shape((Column("value", kind),))
    assert caught.value.what == (
        f".schema(...) does not match the Protobuf message of the column 'value': {reason}"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Nothing", "it has no message 'Nothing'; it has shop.Order, shop.Tree"),
        ("Tree", "recursive. Name the fields to read with .schema"),
    ],
)
def test_a_message_without_a_type_is_named(name: str, reason: str) -> None:
    given = parse({**PROTOBUF, "value.protobuf.message": name})
    with pytest.raises(OptionError) as caught:
        _ = given.columns.default
    assert reason in str(caught.value)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"value.format": "protobuf"}, "'value.protobuf.descriptor' is missing"),
        ({**PROTOBUF, "value.format": "json"}, "but 'value.format' is json"),
        ({"key.protobuf.message": "x"}, "but 'key.format' is binary. Set key.format=protobuf"),
        ({**PROTOBUF, "value.protobuf.descriptor": "/nowhere"}, "the driver cannot read: No such"),
        ({**PROTOBUF, "value.protobuf.descriptor": "Cv8="}, "it is no FileDescriptorSet"),
        ({**PROTOBUF, "value.protobuf.descriptor": "a\0b"}, "the driver cannot read"),
        ({**PROTOBUF, "value.protobuf.framing": "glue"}, "Allowed: plain or confluent"),
        ({**PROTOBUF, "value.subject": "x"}, "'schema.registry.url' is not given"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], reason: str) -> None:
    message = refusal({**LEAST, **given})
    assert reason in message
    assert len(message) < 1000


def test_a_descriptor_needs_the_message() -> None:
    given = {name: text for name, text in PROTOBUF.items() if name != "value.protobuf.message"}
    assert "'value.protobuf.message' is missing" in refusal(given)


REGISTRY = {**LEAST, "value.format": "protobuf", "schema.registry.url": "http://r1"}


def test_a_registry_gives_the_messages() -> None:
    (found,) = parse(REGISTRY).columns.described
    assert (found.framing, found.schema) == ("confluent", None)
    assert found.subject_of(["orders"]) == "orders-value"
    (named,) = parse({**PROTOBUF, **REGISTRY}).columns.described
    assert named.schema == described(DATA)
    assert "Leave one of them out" in refusal({**REGISTRY, "value.protobuf.framing": "plain"})
