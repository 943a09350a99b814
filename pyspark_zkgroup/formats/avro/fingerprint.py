"""The fingerprint by which single-object encoding names a schema: CRC-64-AVRO of its canonical
form.
"""

from __future__ import annotations

import json
from functools import cache

from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Field,
    Fixed,
    Items,
    Primitive,
    Record,
    Schema,
    Union,
    Values,
)

_EMPTY = 0xC15D213AA4D7A795


def fingerprint(schema: Schema) -> int:
    found = _EMPTY
    table = _table()
    for byte in canonical(schema).encode():
        found = (found >> 8) ^ table[(found ^ byte) & 0xFF]
    return found


def canonical(schema: Schema) -> str:
    """Without what does not matter to decode it: defaults, aliases, docs, logical types."""
    return _form(schema, set())


def _form(schema: Schema, seen: set[str]) -> str:
    match schema:
        case Primitive(kind):
            return json.dumps(kind)
        case Items(of):
            return f'{{"type":"array","items":{_form(of, seen)}}}'
        case Values(of):
            return f'{{"type":"map","values":{_form(of, seen)}}}'
        case Union(branches):
            return f"[{','.join(_form(one, seen) for one in branches)}]"
    name = json.dumps(schema.name)
    if schema.name in seen:
        return name
    seen.add(schema.name)
    match schema:
        case Fixed(size=size):
            return f'{{"name":{name},"type":"fixed","size":{size}}}'
        case Enum(symbols=symbols):
            texts = ",".join(json.dumps(one, ensure_ascii=False) for one in symbols)
            return f'{{"name":{name},"type":"enum","symbols":[{texts}]}}'
        case Record():
            fields = ",".join(_field(one, seen) for one in schema.fields)
            return f'{{"name":{name},"type":"record","fields":[{fields}]}}'


def _field(field: Field, seen: set[str]) -> str:
    name = json.dumps(field.name, ensure_ascii=False)
    return f'{{"name":{name},"type":{_form(field.schema, seen)}}}'


@cache
def _table() -> tuple[int, ...]:
    made = []
    for byte in range(256):
        value = byte
        for _ in range(8):
            value = (value >> 1) ^ (_EMPTY if value & 1 else 0)
        made.append(value)
    return tuple(made)
