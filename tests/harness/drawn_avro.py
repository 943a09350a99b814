"""Avro schemas and values drawn by chance, encoded by fastavro: well-formed, and damaged."""

from __future__ import annotations

import io
import random
from itertools import count
from typing import Any

import fastavro

from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Fixed,
    Items,
    Primitive,
    Record,
    Schema,
    Union,
    Values,
    parse,
)

Chance = random.Random
DEPTH_MAX = 3
_TEXTS = ("", "a", "\u00e9\u20ac\U0001f600", "x" * 200, "null", "\x00")
_DOUBLES = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e300, 5e-324)
_FLOATS = (0.0, -0.0, 1.5, float("nan"), float("inf"), -2.25)
_LOGICAL = (
    {"type": "int", "logicalType": "date"},
    {"type": "int", "logicalType": "time-millis"},
    {"type": "long", "logicalType": "timestamp-millis"},
    {"type": "long", "logicalType": "timestamp-micros"},
    {"type": "long", "logicalType": "local-timestamp-millis"},
    {"type": "long", "logicalType": "local-timestamp-micros"},
    {"type": "long", "logicalType": "timestamp-nanos"},
    {"type": "string", "logicalType": "uuid"},
    {"type": "bytes", "logicalType": "decimal", "precision": 7, "scale": 2},
    {"type": "bytes", "logicalType": "decimal", "precision": 38, "scale": 18},
)
_PRIMITIVES = ("boolean", "int", "long", "float", "double", "bytes", "string")
_DECIMALS = (b"\x00", b"\xff", b"\x01\x00", b"\x80", b"\x00\x00\x12\x34", b"\xff\xff\xff\x01")


def schema(chance: Chance) -> Any:
    """As JSON has it; mostly a record, as Avro's records are."""
    names = count()
    if chance.random() < 0.85:
        return _record(chance, DEPTH_MAX, names)
    return _type(chance, 2, names)


def _type(chance: Chance, depth: int, names: Any) -> Any:
    roll = chance.random()
    if depth == 0 or roll < 0.5:
        return chance.choice(_PRIMITIVES)
    if roll < 0.62:
        return dict(chance.choice(_LOGICAL))
    if roll < 0.66:
        symbols = [f"S{at}" for at in range(chance.randint(1, 5))]
        return {"type": "enum", "name": f"E{next(names)}", "symbols": symbols}
    if roll < 0.7:
        more = {"logicalType": "decimal", "precision": 9, "scale": 3}
        size = chance.choice([4, 8])
        made = {"type": "fixed", "name": f"F{next(names)}", "size": size}
        return made | (more if chance.random() < 0.5 else {})
    if roll < 0.78:
        return {"type": "array", "items": _type(chance, depth - 1, names)}
    if roll < 0.84:
        return {"type": "map", "values": _type(chance, depth - 1, names)}
    if roll < 0.94:
        return _union(chance, depth - 1, names)
    return _record(chance, depth - 1, names)


def _union(chance: Chance, depth: int, names: Any) -> Any:
    if chance.random() < 0.7:
        inner = _type(chance, depth, names)
        made = ["null", "int" if isinstance(inner, list) else inner]
    else:
        made = chance.sample(
            ["null", "int", "long", "float", "double", "string", "boolean"], chance.randint(2, 4)
        )
    return made if chance.random() < 0.7 else made[::-1]


def _record(chance: Chance, depth: int, names: Any) -> Any:
    fields = [
        {"name": f"f{at}", "type": _type(chance, depth, names)}
        for at in range(chance.randint(1, 6))
    ]
    return {"type": "record", "name": f"R{next(names)}", "fields": fields}


def datum(chance: Chance, of: Schema) -> Any:
    match of:
        case Primitive(kind, logical):
            if logical is not None and logical.name == "decimal":
                return chance.choice(_DECIMALS[: 4 if logical.precision < 10 else 6])
            return _primitive(chance, kind, logical is not None)
        case Fixed(size=size, logical=logical):
            if logical is None:
                return chance.randbytes(size)
            return chance.randrange(-(10**9) + 1, 10**9).to_bytes(size, "big", signed=True)
        case Enum(symbols=symbols):
            return chance.choice(symbols)
        case Items(inner):
            return [datum(chance, inner) for _ in range(chance.randrange(4))]
        case Values(inner):
            return {f"k{at}": datum(chance, inner) for at in range(chance.randrange(4))}
        case Union(branches):
            return datum(chance, chance.choice(branches))
        case Record(fields=fields):
            return {one.name: datum(chance, one.schema) for one in fields}


def _primitive(chance: Chance, kind: str, is_logical: bool) -> Any:
    odd = chance.random() < 0.3
    match kind:
        case "null":
            return None
        case "boolean":
            return chance.random() < 0.5
        case "int" | "long":
            bits = 31 if kind == "int" else 49 if is_logical else 63
            limit = 2**bits
            edges = [0, -1, 1, 63, 64, -64, -65, limit - 1, -limit]
            return chance.choice(edges) if odd else chance.randrange(-limit, limit)
        case "float":
            return chance.choice(_FLOATS)
        case "double":
            return chance.choice(_DOUBLES) if odd else chance.uniform(-1e9, 1e9)
        case "bytes":
            return chance.randbytes(chance.randrange(9))
        case _:
            return chance.choice(_TEXTS)


def encoded(found: Any, value: Any) -> bytes:
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(found), value)
    return out.getvalue()


def value(chance: Chance, found: Any, of: Schema, broken: float) -> bytes:
    """About `broken` of them are damaged."""
    data = encoded(found, datum(chance, of))
    if chance.random() >= broken:
        return data
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[at:at] = chance.randbytes(chance.choice([1, 1, 3]))
            case 1:
                del changed[at : at + chance.choice([1, 1, 3])]
            case 2:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case _:
                del changed[at:]
    return bytes(changed)


def parsed(found: Any) -> Schema:
    import json

    return parse(json.dumps(found))
