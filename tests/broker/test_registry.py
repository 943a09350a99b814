"""What records are decoded by comes from a real registry; it may be away for a while."""

from __future__ import annotations

import json
import threading
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.formats.avro.format import AvroFormat
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.registry import pins
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.registry.http import NotFoundError
from pyspark_zkgroup.registry.schemas import newest, schema_of_id
from pyspark_zkgroup.schema import Column, Struct, Type
from pyspark_zkgroup.spark.pinned import check_can_pin, chosen_versions, pin, with_versions
from tests.harness.drawn_avro import encoded
from zkgroup_sandbox.registry import Registry

OLD = {
    "type": "record",
    "name": "order",
    "fields": [{"name": "id", "type": "int"}, {"name": "note", "type": "string"}],
}
NEW = {
    "type": "record",
    "name": "order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "user", "type": ["null", "string"], "default": None},
        {"name": "state", "type": "string", "default": "new"},
    ],
}
ID_USER = Struct((Column("id", "bigint"), Column("user", "string")))


def subject() -> str:
    return f"topic-{uuid.uuid4().hex[:8]}-value"


def framed(number: int, schema: Any, value: Any) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + encoded(schema, value)


def rows(form: AvroFormat, kind: Type, *values: bytes) -> tuple[list[Any], list[str | None]]:
    pieces = list(form.parser(kind).parse(pa.array(values, pa.binary())))
    return (
        [row for piece in pieces for row in piece.values.to_pylist()],
        [reason for piece in pieces for reason in piece.reasons.to_pylist()],
    )


def test_schemas_outlive_a_killed_registry(registry: Registry) -> None:
    name, access = subject(), RegistryAccess((registry.url,))
    text = json.dumps({**OLD, "doc": name})  # or it would have the id of an older one
    number = registry.register(name, text)
    registry.kill()
    registry.start()
    assert schema_of_id(access, number).text == text


def test_a_wrong_path_is_no_missing_schema(registry: Registry) -> None:
    access = RegistryAccess((f"{registry.url}/elsewhere",), deadline_s=0.5)
    with pytest.raises(ServerError, match="HTTP status 404"):
        schema_of_id(access, 1)


def test_records_of_several_schemas_are_resolved_against_the_columns(registry: Registry) -> None:
    name, access = subject(), RegistryAccess((registry.url,))
    old = registry.register(name, json.dumps(OLD))
    new = registry.register(name, json.dumps(NEW))
    values = (
        framed(old, OLD, {"id": 1, "note": "x"}),
        framed(new, NEW, {"id": 2**40, "user": "ann", "state": "old"}),
        framed(old, OLD, {"id": 3, "note": "y"}),
        framed(10**6, OLD, {"id": 4, "note": "z"}),
        b"no frame",
    )
    found, reasons = rows(AvroFormat("value", None, "confluent", access), ID_USER, *values)
    assert found[:3] == [
        {"id": 1, "user": None},
        {"id": 2**40, "user": "ann"},
        {"id": 3, "user": None},
    ]
    assert reasons[:4] == [None, None, None, "the registry has no schema with the id 1000000"]
    assert "it does not begin with a zero byte" in str(reasons[4])

    version = newest(access, name)
    assert (version.subject, version.number, version.schema.text) == (name, 2, json.dumps(NEW))
    kind = Struct((*ID_USER.fields, Column("state", "string")))
    found, reasons = rows(
        AvroFormat("value", version.schema, "confluent", access), kind, *values[:3]
    )
    assert [row["state"] for row in found] == ["new", "old", "new"]
    assert reasons == [None, None, None]


def test_a_schema_may_refer_to_others(registry: Registry) -> None:
    access = RegistryAccess((registry.url,))
    part, whole = subject(), subject()
    registry.register(part, '{"type": "fixed", "name": "app.token", "size": 2}')
    text = '{"type": "record", "name": "r", "fields": [{"name": "t", "type": "app.token"}]}'
    number = registry.register(
        whole, text, references=[{"name": "app.token", "subject": part, "version": 1}]
    )
    kind = Struct((Column("t", "binary"),))
    value = b"\0" + number.to_bytes(4, "big") + b"ab"
    assert rows(AvroFormat("value", None, "confluent", access), kind, value) == (
        [{"t": b"ab"}],
        [None],
    )


def test_a_schema_of_another_kind_is_a_bad_record(registry: Registry) -> None:
    access = RegistryAccess((registry.url,))
    text = 'syntax = "proto3"; message Order { int64 id = 1; }'
    number = registry.register(subject(), text, kind="PROTOBUF")
    value = b"\0" + number.to_bytes(4, "big")
    _, reasons = rows(AvroFormat("value", None, "confluent", access), ID_USER, value)
    assert reasons == ["its schema is PROTOBUF, not AVRO"]


def test_what_a_deleted_subject_wrote_is_read_but_gives_no_columns(registry: Registry) -> None:
    name, access = subject(), RegistryAccess((registry.url,))
    number = registry.register(name, json.dumps({**OLD, "doc": name}))
    assert newest(access, name).number == 1
    registry.delete(name)
    with pytest.raises(NotFoundError):
        newest(access, name)
    schema_of_id.cache_clear()
    value = framed(number, OLD, {"id": 1, "note": "x"})
    _, reasons = rows(AvroFormat("value", None, "confluent", access), ID_USER, value)
    assert reasons in ([None], [f"the registry has no schema with the id {number}"])


def test_a_registry_that_is_away_is_waited_for(registry: Registry) -> None:
    name = subject()
    number = registry.register(name, json.dumps(OLD))
    value = framed(number, OLD, {"id": 1, "note": "x"})
    registry.kill()
    try:
        access = RegistryAccess((registry.url,), deadline_s=1.0)
        with pytest.raises(ServerError, match=r"ZKG-002\] No schema registry answers: http://127"):
            rows(AvroFormat("value", None, "confluent", access), ID_USER, value)
        back = threading.Timer(2.0, registry.start)
        back.start()
        access = RegistryAccess((registry.url,), deadline_s=90.0)
        found, reasons = rows(AvroFormat("value", None, "confluent", access), ID_USER, value)
        back.join()
    finally:
        registry.start()
    assert (found, reasons) == ([{"id": 1, "user": None}], [None])


def test_columns_of_a_new_query_are_pinned(
    registry: Registry, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    name = subject()
    registry.register(name, json.dumps(OLD))
    given = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "group.id": "g",
        "subscribe": name.removesuffix("-value"),
        "value.format": "avro",
        "schema.registry.url": registry.url,
    }
    assert chosen_versions(parse(given))["value"].number == 1
    with pytest.raises(
        OptionError, match=r"saved in the checkpoint for restarts.*'checkpointLocation'"
    ):
        check_can_pin(parse(given), chosen_versions(parse(given)))

    options = parse({**given, "checkpointLocation": f"file://{tmp_path}/checkpoint"})
    versions = chosen_versions(options)
    check_can_pin(options, versions)
    pin(options, versions.values())
    registry.register(name, json.dumps(NEW))
    restarted = chosen_versions(options)
    assert restarted == versions
    value = with_versions(options, restarted).columns.default[1]
    assert str(value.type) == "struct<id:int,note:string>"
    caplog.clear()
    pin(options, restarted.values())
    assert f"[ZKG-199] Subject {name} has version 2, but" in caplog.text

    (tmp_path / "checkpoint" / pins.FILE).unlink()
    assert chosen_versions(options)["value"].number == 2
    (tmp_path / "checkpoint" / pins.FILE).write_text("{}")
    with pytest.raises(OptionError, match="does not contain the schemas of this checkpoint"):
        chosen_versions(options)
    with pytest.raises(
        OptionError,
        match="has no subject 'nothing', from which the type",
    ):
        chosen_versions(parse({**given, "value.subject": "nothing"}))
