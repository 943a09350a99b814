"""Options of columns of Avro: what they give, and what they are refused with."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.avro.format import AvroFormat
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.schema import Column, Struct, spark_ddl
from tests.harness.given_options import LEAST, refusal

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
    assert shape.formats == (("value", AvroFormat("value", SCHEMA, "confluent")),)


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("string", "value is a record, which does not become STRING"),
        (Struct((Column("id", "int"),)), "value.id is a long, which does not become INT"),
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
        f".schema(...) asks for what 'value.avro.schema' cannot give: {reason}"
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
    with pytest.raises(OptionError, match=r"without end\. Name the fields to read with \.schema"):
        _ = given.columns.default
