"""Avro schemas that are wrong, or made to harm those who read them."""

from __future__ import annotations

import json
import time

import pytest

from pyspark_zkgroup.formats.avro.defaults import encoded
from pyspark_zkgroup.formats.avro.resolve import steps
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


def record(name: str, of: object) -> dict[str, object]:
    return {"type": "record", "name": name, "fields": [{"name": "a", "type": of}]}


def test_unions_within_unions_take_little_time_to_resolve() -> None:
    read: object = "int"
    written: object = "int"
    for at in range(12):
        read = record(f"r{at}", read)
        first = record(f"w{at}_0", written)
        # The others refer to the types that the first one defines.
        names = [f"w{at - 1}_{one}" for one in range(8)] if at else "int"
        written = [first, *(record(f"w{at}_{one}", names) for one in range(1, 8))]
    reader = parse(json.dumps(read))
    begun = time.process_time()
    with pytest.raises(SchemaError, match="takes more than 100000 steps"):
        steps(parse(json.dumps(written)), reader, spark_type(reader), "value")
    assert time.process_time() - begun < 20


@pytest.mark.parametrize("kind", ["null", "int"])
def test_defaults_within_defaults_take_little_time(kind: str) -> None:
    leaf = {"name": "x", "type": kind, "default": None if kind == "null" else 1}
    kinds: list[object] = [{"type": "record", "name": "r0", "fields": [leaf]}]
    for at in range(1, 40):
        fields: list[object]
        fields = [{"name": name, "type": f"r{at - 1}", "default": {}} for name in "ab"]
        kinds.append({"type": "record", "name": f"r{at}", "fields": fields})
    fields = [{"name": f"f{at}", "type": one, "default": {}} for at, one in enumerate(kinds)]
    schema = parse(json.dumps({"type": "record", "name": "r", "fields": fields}))
    assert isinstance(schema, Record)
    begun = time.process_time()
    assert encoded(schema.fields[3]) == (b"" if kind == "null" else b"\x02" * 8)
    if kind == "null":
        assert encoded(schema.fields[-1]) == b""
    else:
        with pytest.raises(SchemaError, match="it takes more than 4194304 bytes"):
            encoded(schema.fields[-1])
    assert time.process_time() - begun < 5
