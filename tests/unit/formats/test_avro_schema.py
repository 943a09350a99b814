"""Avro schemas that are wrong, or made to harm those who read them."""

from __future__ import annotations

import json
import time

import pytest

from pyspark_zkgroup.formats.avro.schema import Fixed, Record, SchemaError, parse
from pyspark_zkgroup.formats.avro.types import spark_type
from pyspark_zkgroup.formats.avro.writers import parsed
from pyspark_zkgroup.registry.access import RegisteredSchema


def fixed_decimal(size: int, precision: int) -> Fixed:
    logical = {"logicalType": "decimal", "precision": precision}
    found = parse(json.dumps({"type": "fixed", "name": "f", "size": size, **logical}))
    assert isinstance(found, Fixed)
    return found


@pytest.mark.parametrize(("size", "digits"), [(1, 2), (2, 4), (8, 18), (16, 38), (1000, 2407)])
def test_a_fixed_is_a_decimal_of_as_many_digits_as_it_has_room_for(size: int, digits: int) -> None:
    assert fixed_decimal(size, digits).logical is not None
    for precision in (digits + 1, 8 * size - 1, 8 * size, 8 * size + 1):
        assert fixed_decimal(size, precision).logical is None
    assert fixed_decimal(0, 1).logical is None


def test_a_decimal_that_claims_a_million_digits_takes_no_time() -> None:
    begun = time.process_time()
    assert fixed_decimal(5, 3_000_000).logical is None
    assert time.process_time() - begun < 1


@pytest.mark.parametrize(
    "text",
    [
        '{"type": "record", "name": "r", "aliases": 5, "fields": []}',
        '{"type": "fixed", "name": "r", "size": 1, "aliases": "s"}',
        '{"type": "record", "name": "q", "fields": [{"name": "r", "type": "int", "aliases": 5}]}',
    ],
)
def test_aliases_that_are_no_list_are_refused(text: str) -> None:
    with pytest.raises(SchemaError, match=r"the aliases of r are .*, not a list"):
        parse(text)


def test_a_type_that_is_nested_too_deeply_is_refused() -> None:
    texts, inner = [], '"int"'
    for begin in range(0, 1500, 30):
        for at in range(begin, begin + 30):
            inner = f'{{"type":"record","name":"r{at}","fields":[{{"name":"a","type":{inner}}}]}}'
        texts.append(inner)
        inner = f'"r{begin + 29}"'
    schema = parsed(RegisteredSchema(texts[-1], tuple(texts[:-1])))
    assert isinstance(schema, Record)
    with pytest.raises(SchemaError, match="value is nested too deeply"):
        spark_type(schema)
