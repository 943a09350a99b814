"""Avro becomes columns. tests/spark/test_avro_equality.py compares the rows with Spark's."""

from __future__ import annotations

import json
import random
import time
from datetime import date, datetime, timezone
from decimal import Decimal as Number
from typing import Any

import fastavro
import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.formats.avro.fingerprint import canonical, fingerprint
from pyspark_zkgroup.formats.avro.format import Framing
from pyspark_zkgroup.formats.avro.native import AvroParser
from pyspark_zkgroup.formats.avro.schema import (
    SchemaError,
    parse,
)
from pyspark_zkgroup.formats.avro.types import spark_type
from pyspark_zkgroup.formats.avro.writers import OneWriter
from pyspark_zkgroup.registry.access import RegisteredSchema
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type
from tests.harness import drawn_avro
from tests.harness.drawn_avro import encoded
from tests.harness.evolved_avro import OneSchema

ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "user", "type": ["null", "string"], "default": None},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
        {
            "name": "amount",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        },
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
ROW = {"id": 7, "user": "ann", "tags": ["a", "b"], "amount": b"\x01\x00", "at": 1_700_000_000_123}
AT = datetime(2023, 11, 14, 22, 13, 20, 123_000, timezone.utc)


def parsed(
    schema: Any,
    *values: bytes | None,
    kind: Type | None = None,
    framing: Framing = "plain",
    reader: Any = None,
) -> tuple[list[Any], list[str | None]]:
    wanted = kind or spark_type(drawn_avro.parsed(reader or schema))
    writers = (
        OneWriter(RegisteredSchema(json.dumps(schema)), framing)
        if reader is None
        else OneSchema(schema, reader)
    )
    parser = AvroParser(wanted, "value", framing, writers)
    rows: list[Any] = []
    reasons: list[str | None] = []
    for piece in parser.parse(pa.array(values, pa.binary())):
        piece.values.validate(full=True)
        rows += piece.values.to_pylist()
        reasons += piece.reasons.to_pylist()
        assert piece.bad == len(piece.reasons) - piece.reasons.null_count
    return rows, reasons


def test_a_record_becomes_a_row() -> None:
    assert str(spark_type(drawn_avro.parsed(ORDER))) == (
        "struct<id:bigint,user:string,tags:array<string>,amount:decimal(5,2),at:timestamp>"
    )
    rows, reasons = parsed(ORDER, encoded(ORDER, ROW), None)
    assert rows == [{**ROW, "amount": Number("2.56"), "at": AT}, None]
    assert reasons == [None, None]


def test_only_the_named_fields_are_read() -> None:
    kind = Struct((Column("at", "timestamp"), Column("id", "double")))
    assert parsed(ORDER, encoded(ORDER, ROW), kind=kind) == ([{"at": AT, "id": 7.0}], [None])


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "value: at: a number in it does not end"),
        (
            lambda data: data[:1] + b"\x06" + data[2:],
            "value: user: its branch of a union is number 3 of 2",
        ),
        (lambda data: data[:2] + b"\x7f" + data[3:], "value: user: it claims -64 bytes"),
        (lambda data: data[:2] + b"\x7e" + data[3:], "value: user: it claims 63 bytes where "),
        (lambda data: b"", "value: id: a number in it does not end"),
        (lambda data: b"\xff" * 30, "value: id: a number in it does not end"),
    ],
    ids=["cut short", "branch", "negative", "lying length", "empty", "number"],
)
def test_a_bad_record_is_null_and_named(change: Any, reason: str) -> None:
    rows, reasons = parsed(ORDER, change(encoded(ORDER, ROW)), encoded(ORDER, ROW))
    assert rows[0] == dict.fromkeys(ROW)
    assert f"value: {reasons[0]}".startswith(reason)
    assert rows[1]["id"] == 7
    assert reasons[1] is None


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ('["null", "int", "long"]', "bigint"),
        ('["float", "double"]', "double"),
        ('["int", "string"]', "struct<member0:int,member1:string>"),
        ('{"type": "int", "logicalType": "date"}', "date"),
        ('{"type": "long", "logicalType": "time-micros"}', "bigint"),
        ('{"type": "long", "logicalType": "local-timestamp-millis"}', "timestamp_ntz"),
        ('{"type": "long", "logicalType": "timestamp-nanos"}', "bigint"),
        ('{"type": "fixed", "name": "d", "size": 12, "logicalType": "duration"}', "binary"),
        ('{"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 6}', "binary"),
        (
            '{"type": "fixed", "name": "d", "size": 1, "logicalType": "decimal", "precision": 4}',
            "binary",
        ),
        (
            '{"type": "map", "values": {"type": "enum", "name": "e", "symbols": ["A"]}}',
            "map<string,string>",
        ),
        ('{"type": {"type": "array", "items": "null"}}', None),
        ('{"type": "record", "name": "r", "fields": []}', None),
        ('{"type": "record", "name": "r", "fields": [{"name": "n", "type": ["null", "r"]}]}', None),
        ('{"type": "bytes", "logicalType": "decimal", "precision": 40, "scale": 2}', None),
    ],
)
def test_types_are_those_of_from_avro(schema: str, kind: str | None) -> None:
    if kind is None:
        with pytest.raises(SchemaError):
            spark_type(parse(schema))
    else:
        assert str(spark_type(parse(schema))) == kind


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON"),
        ('"nothing"', "the type 'nothing' is not defined"),
        ("[]", "a union has no branches"),
        ('["int", "int"]', "a union has two branches 'int'"),
        ('["int", ["null"]]', "a union contains a union"),
        ('{"type": "record", "name": "r"}', "r has no fields"),
        (
            '{"type": "record", "name": "r", "fields": [{"name": "a"}]}',
            "the field a of r has no type",
        ),
        ('{"type": "enum", "name": "e", "symbols": ["A", "A"]}', "e has one symbol twice"),
        ('{"type": "fixed", "name": "f", "size": -1}', "f has no size"),
        ('{"type": "fixed", "name": "1f", "size": 1}', "'1f' is no name of a type"),
        ('{"type": "int", "spark.sql.catalyst.type": "interval year"}', "INTERVAL YEAR"),
        ("[" * 500 + "]" * 500, "deep"),
        ('{"type":' * 5000 + "1" + "}" * 5000, "deep"),
    ],
)
def test_a_text_that_is_no_schema_is_refused(text: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason.replace("[", "\\[")):
        parse(text)


READER = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "number", "aliases": ["id"], "type": "double"},
        {
            "name": "amount",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
        },
        {
            "name": "state",
            "type": {"type": "enum", "name": "s", "symbols": ["NEW", "OLD"]},
            "default": "OLD",
        },
        {"name": "more", "type": {"type": "map", "values": "int"}, "default": {"a": 1}},
        {"name": "user", "type": ["null", "bytes"]},
    ],
}


def test_a_writer_is_resolved_against_the_schema_of_the_columns() -> None:
    rows, reasons = parsed(
        ORDER, encoded(ORDER, ROW), encoded(ORDER, {**ROW, "user": None}), reader=READER
    )
    assert reasons == [None, None]
    assert rows == [
        {"number": 7.0, "amount": Number("2.56"), "state": "OLD", "more": [("a", 1)], "user": user}
        for user in (b"ann", None)
    ]


@pytest.mark.parametrize(
    ("writer", "value", "reader", "reason"),
    [
        ("string", "1", "int", "value is a string, where its columns' schema has an int"),
        (["null", "int"], None, "int", "value is null, where its columns' schema has an int"),
        ("long", 1, "int", "value is a long, where"),
        (
            {"type": "record", "name": "r", "fields": [{"name": "a", "type": "int"}]},
            {"a": 1},
            {"type": "record", "name": "r", "fields": [{"name": "b", "type": "int"}]},
            "value.b is not in the writer's schema, and has no default",
        ),
        (
            {"type": "long", "logicalType": "timestamp-millis"},
            1,
            {"type": "long", "logicalType": "local-timestamp-millis"},
            "cannot be read as TIMESTAMP_NTZ",
        ),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 1},
            b"\1",
            {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
            "cannot be read as DECIMAL(5,2)",
        ),
        (
            {"type": "enum", "name": "e", "symbols": ["A", "B"]},
            "B",
            {"type": "enum", "name": "e", "symbols": ["A"]},
            "its symbol is not in the schema of the columns",
        ),
    ],
)
def test_what_avro_does_not_resolve_is_bad(
    writer: Any, value: Any, reader: Any, reason: str
) -> None:
    _, reasons = parsed(writer, encoded(writer, value), reader=reader)
    assert reason in str(reasons[0])


def test_a_unit_of_time_is_converted() -> None:
    reader = {"type": "long", "logicalType": "timestamp-micros"}
    for writer, value in (("timestamp-millis", 1_700_000_000_123), ("none", 1_700_000_000_123_000)):
        schema = {"type": "long", "logicalType": writer}
        assert parsed(schema, encoded(schema, value), reader=reader) == ([AT], [None])


def test_members_of_a_union_are_those_of_the_columns_schema() -> None:
    writer, reader = ["string", "int"], ["null", "double", "string"]
    rows, reasons = parsed(writer, encoded(writer, "x"), encoded(writer, 3), reader=reader)
    assert reasons == [None, None]
    assert rows == [{"member0": None, "member1": "x"}, {"member0": 3.0, "member1": None}]


def test_framings_name_the_schema() -> None:
    data = encoded(ORDER, ROW)
    assert parsed(ORDER, b"\0\0\0\0\x07" + data, framing="confluent")[1] == [None]
    print_ = fingerprint(drawn_avro.parsed(ORDER)).to_bytes(8, "little")
    rows, reasons = parsed(
        ORDER,
        b"\xc3\x01" + print_ + data,
        b"\xc3\x01" + bytes(8) + data,
        data,
        framing="single-object",
    )
    assert rows[0]["id"] == 7
    assert reasons[0] is None
    assert "it was written with the schema of the fingerprint 0000000000000000" in str(reasons[1])
    assert "it does not begin with the bytes C3 01" in str(reasons[2])
    assert "it does not begin with a zero byte" in str(
        parsed(ORDER, data, framing="confluent")[1][0]
    )


def test_records_that_name_many_schemas_do_not_harm_others() -> None:
    good = b"\xc3\x01" + fingerprint(parse('"int"')).to_bytes(8, "little") + b"\2"
    other = [b"\xc3\x01" + at.to_bytes(8, "little") + b"\2" for at in range(3000)]
    rows, reasons = parsed(
        "int", *(one for bad in other for one in (bad, good)), framing="single-object"
    )
    assert rows == [None, 1] * 3000
    assert [reason is None for reason in reasons] == [False, True] * 3000


def test_fingerprints_are_those_of_fastavro() -> None:
    chance = random.Random(5)
    for _ in range(50):
        schema = drawn_avro.schema(chance)
        form = fastavro.schema.to_parsing_canonical_form(schema)
        assert canonical(drawn_avro.parsed(schema)) == form
        theirs = fastavro.schema.fingerprint(form, "CRC-64-AVRO")
        ours = fingerprint(drawn_avro.parsed(schema))
        assert ours.to_bytes(8, "little").hex() == theirs


LIST = {
    "type": "record",
    "name": "list",
    "fields": [{"name": "next", "type": ["null", "list"]}, {"name": "id", "type": "int"}],
}
WIDE = {
    "type": "array",
    "items": {
        "type": "record",
        "name": "w",
        "fields": [{"name": f"c{at}", "type": ["null", "long"]} for at in range(200)],
    },
}
MAP = {"type": "map", "values": "int"}
NOTHING = {
    "type": "array",
    "items": {"type": "record", "name": "n", "fields": [{"name": "a", "type": "null"}]},
}
MOST = b"\xfe" + b"\xff" * 8 + b"\x01"


@pytest.mark.parametrize(
    ("schema", "kind", "value", "reason"),
    [
        (LIST, Struct((Column("id", "int"),)), b"\x02" * 1_000_000, "it is nested too deeply"),
        (["null", WIDE], None, b"\x02" + MOST + b"\0" * 200, "does not end"),
        (
            {"type": "array", "items": ["null", WIDE["items"]]},
            None,
            b"\xfe\xff\xff\x01" + b"\0" * 2_000_000,
            "it takes more than 268435456 bytes",
        ),
        (MAP, None, b"\xfe\xff\xff\x01" + b"\x02k\x02" * 30_000, "a number in it does not end"),
        (MAP, None, b"\x04\x02k\x02\x02k\x04\0", "a map in it has one key twice"),
        (MAP, None, b"\xc8\x01" + b"\x02k\x02" * 100 + b"\0", "a map in it has one key twice"),
        (
            NOTHING,
            Array(Struct((Column("b", "int"),))),
            MOST + b"\0",
            "it takes more than 268435456 bytes",
        ),
    ],
    ids=["deep", "count", "nulls", "map", "key twice", "keys twice", "no bytes"],
)
def test_a_hostile_record_takes_little_time(
    schema: Any, kind: Type | None, value: bytes, reason: str
) -> None:
    begun = time.process_time()
    _, reasons = parsed(schema, value, kind=kind)
    assert reason in str(reasons[0])
    assert time.process_time() - begun < 5


def test_a_schema_of_schemas_takes_little_time() -> None:
    kinds: list[Any] = [{"type": "record", "name": "r0", "fields": [{"name": "a", "type": "null"}]}]
    for at in range(1, 60):
        fields = [{"name": name, "type": f"r{at - 1}"} for name in "ab"]
        kinds.append({"type": "record", "name": f"r{at}", "fields": fields})
    fields = [{"name": f"f{at}", "type": kind} for at, kind in enumerate(kinds)]
    schema = {"type": "record", "name": "r", "fields": [*fields, {"name": "id", "type": "int"}]}
    with pytest.raises(SchemaError, match="always null"):
        spark_type(drawn_avro.parsed(schema))
    begun = time.process_time()
    _, reasons = parsed(schema, b"\x02", kind=Struct((Column("id", "int"),)))
    assert "it takes more than" in str(reasons[0])
    assert time.process_time() - begun < 10


def test_a_large_batch_comes_in_pieces() -> None:
    schema = {"type": "array", "items": ["null", WIDE["items"]]}
    parser = AvroParser(
        spark_type(drawn_avro.parsed(schema)),
        "value",
        "plain",
        OneWriter(RegisteredSchema(json.dumps(schema)), "plain"),
    )
    pieces = list(
        parser.parse(pa.array([b"\x80\xe2\x09" + b"\0" * 80_000 + b"\0"] * 4, pa.binary()))
    )
    assert [len(piece.values) for piece in pieces] == [1, 1, 1, 1]
    assert [piece.bad for piece in pieces] == [0, 0, 0, 0]


def test_logical_types_become_those_of_python() -> None:
    schema = {"type": "array", "items": {"type": "int", "logicalType": "date"}}
    assert parsed(schema, encoded(schema, [0, 365])) == (
        [[date(1970, 1, 1), date(1971, 1, 1)]],
        [None],
    )
    assert spark_type(drawn_avro.parsed(READER)) == Struct(
        (
            Column("number", "double"),
            Column("amount", Decimal(9, 2)),
            Column("state", "string"),
            Column("more", Map("string", "int")),
            Column("user", "binary"),
        )
    )
