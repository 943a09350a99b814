"""Options of columns of Avro: what they give, and what they are refused with."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.avro.format import AvroFormat
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess
from pyspark_zkgroup.schema import Column, Struct, spark_ddl
from pyspark_zkgroup.security.secret import Secret
from tests.harness.given_options import LEAST, refusal
from tests.harness.planted_secrets import PASSWORD, TOKEN, leaks_of, redaction

SCHEMA = """{"type": "record", "name": "order", "fields": [
    {"name": "id", "type": "long"}, {"name": "from", "type": ["null", "string"]}]}"""
AVRO = {**LEAST, "value.format": "avro", "value.avro.schema": SCHEMA}


def test_the_schema_gives_the_column_its_type() -> None:
    columns = parse({**AVRO, "key.format": "avro", "key.avro.schema": '"long"'}).columns.default
    assert spark_ddl(columns).startswith(
        "key bigint, value struct<`id`:bigint,`from`:string>, topic string,"
    )


def test_a_schema_may_lie_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(SCHEMA)
    given = parse({**AVRO, "value.avro.schema": str(path)})
    assert given.columns == parse(AVRO).columns


def test_named_columns_are_a_part_of_the_schema() -> None:
    wanted = (Column("value", Struct((Column("id", "double"),))),)
    shape = parse({**AVRO, "value.avro.framing": "Confluent"}).columns.shape(wanted)
    assert shape.formats == (("value", AvroFormat("value", RegisteredSchema(SCHEMA), "confluent")),)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("string", "value is the record order, which cannot be read as STRING"),
        (Struct((Column("id", "int"),)), "value.id is a long, which cannot be read as INT"),
        (
            Struct((Column("user", "string"),)),
            "value.user is not in the schema, which has id, from",
        ),
    ],
)
def test_columns_that_the_schema_does_not_give_are_refused(kind: Struct, reason: str) -> None:
    with pytest.raises(OptionError) as caught:
        parse(AVRO).columns.shape((Column("value", kind),))
    assert caught.value.what == (
        f".schema(...) does not match the Avro schema of the column 'value': {reason}"
    )


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"value.format": "avro"}, "'value.avro.schema' is missing"),
        ({"value.avro.schema": SCHEMA}, "but 'value.format' is binary. Set value.format=avro"),
        ({"key.avro.framing": "plain"}, "but 'key.format' is binary"),
        ({**AVRO, "value.avro.schema": "{"}, "which is no Avro schema: it is not JSON"),
        ({**AVRO, "value.avro.schema": "/nowhere.avsc"}, "which the driver cannot read: No such"),
        ({**AVRO, "value.avro.framing": "glue"}, "Allowed: plain or single-object or confluent"),
    ],
)
def test_what_is_wrong_is_named(given: dict[str, str], reason: str) -> None:
    assert reason in refusal({**LEAST, **given})


def test_a_schema_without_a_type_needs_named_columns() -> None:
    schema = '{"type": "record", "name": "r", "fields": [{"name": "n", "type": ["null", "r"]}]}'
    given = parse({**AVRO, "value.avro.schema": schema})
    with pytest.raises(OptionError, match=r"recursive\. Name the fields to read with \.schema"):
        _ = given.columns.default


REGISTRY = {**LEAST, "value.format": "avro", "schema.registry.url": "https://r1/api/, http://r2:81"}


def test_a_registry_gives_the_schemas() -> None:
    given = {**REGISTRY, "schema.registry.basic.auth.user.info": f"ann:{PASSWORD}"}
    (avro,) = parse({**given, "kafkaConsumer.pollTimeoutMs": "5000"}).columns.described
    assert avro.registry == RegistryAccess(
        ("https://r1/api", "http://r2:81"), Secret(f"ann:{PASSWORD}"), deadline_s=5.0
    )
    assert (avro.framing, avro.schema) == ("confluent", None)
    assert avro.subject_of(["orders"]) == "orders-value"
    with pytest.raises(OptionError, match=r"'value\.subject' is missing"):
        avro.subject_of([])
    (named,) = parse({**REGISTRY, "value.subject": "o"}).columns.described
    assert named.subject_of([]) == "o"
    (bearer,) = parse({**REGISTRY, "schema.registry.bearer.auth.token": TOKEN}).columns.described
    assert bearer.registry is not None
    assert bearer.registry.token == Secret(TOKEN)
    assert leaks_of(repr(avro), repr(bearer)) == []


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"schema.registry.url": f"http://ann:{PASSWORD}@r1"}, "has a login in an address"),
        ({"schema.registry.url": f"ftp://ann:{PASSWORD}@r1"}, "is no http(s) address"),
        ({"schema.registry.url": "http://r1:x"}, "is no http(s) address"),
        ({"schema.registry.basic.auth.user.info": PASSWORD}, "no colon between user and password"),
        (
            {
                "schema.registry.basic.auth.user.info": f"a:{PASSWORD}",
                "schema.registry.bearer.auth.token": TOKEN,
            },
            "Give one of them",
        ),
        (
            {"schema.registry.bearer.auth.token": f"{TOKEN}\n"},
            "is '*****', which has a blank, the end of a line",
        ),
        ({"schema.registry.bearer.auth.token": f"{TOKEN}\u20ac"}, "that no token has"),
        ({"value.avro.framing": "plain"}, "Leave one of them out"),
        ({"key.subject": "x"}, "but 'key.format' is binary"),
        ({"value.format": "json"}, "no format is avro or protobuf"),
        (
            {
                "schema.registry.url": "http://r1",
                "schema.registry.ssl.truststore.location": "/nowhere.pem",
            },
            "begins with https",
        ),
        (
            {"schema.registry.ssl.truststore.location": "/nowhere.pem"},
            "which the driver cannot read",
        ),
    ],
)
def test_a_registry_that_is_wrong_is_named(given: dict[str, str], reason: str) -> None:
    message = refusal({**REGISTRY, **given})
    assert reason in message
    assert leaks_of(message) == []


def test_without_a_registry_its_options_have_no_effect() -> None:
    for name in ("value.subject", "schema.registry.bearer.auth.token"):
        assert "'schema.registry.url' is not given" in refusal({**AVRO, name: "x"})


def test_the_expression_of_the_manual_hides_the_logins_in_a_plan() -> None:
    given = "schema.registry.bearer.auth.token=a, schema.registry.url=http://a:b@r1,b, threads=1"
    plan = re.sub(redaction(), "*", f"Relation zkgroup, [{given}], [key#1]")
    assert plan == "Relation zkgroup, [*, *, threads=1], [key#1]"
