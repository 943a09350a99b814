"""Rows of Avro as fastavro reads them, in the form of plain_rows.py: what the native reader is
compared with.
"""

from __future__ import annotations

import io
from decimal import Context
from decimal import Decimal as Number
from typing import Any

import fastavro

from pyspark_zkgroup.formats.avro.schema import (
    Fixed,
    Items,
    Primitive,
    Record,
    Schema,
    Union,
    Values,
    kind_of,
)
from pyspark_zkgroup.formats.avro.types import members_of, wider_type


class AvroReference:
    """Of records with one schema, as JSON has it."""

    def __init__(self, found: Any, schema: Schema) -> None:
        self._schema = schema
        self._is_ambiguous = _is_ambiguous(found)
        self._bare = fastavro.parse_schema(_bare(found))

    def disagreement(self, value: bytes, our: Any, reason: str | None) -> str | None:
        """fastavro reads some of what the native reader refuses, as Java does."""
        if reason is not None or self._is_ambiguous:
            return None
        try:
            found = fastavro.schemaless_reader(io.BytesIO(value), self._bare)
        except UnicodeDecodeError:
            return None
        theirs = _as_columns(found, self._schema)
        return None if _without_members(our) == theirs else f"fastavro reads {theirs}"


def _is_ambiguous(found: Any) -> bool:
    """Whether fastavro does not say if a number was an int, of which Java drops some bits."""
    if isinstance(found, dict):
        return any(map(_is_ambiguous, found.values()))
    if isinstance(found, list):
        return ("int" in found and "long" in found) or any(map(_is_ambiguous, found))
    return False


def _bare(found: Any) -> Any:
    """Without logical types, of which Python holds fewer values."""
    if isinstance(found, dict):
        logical = ("logicalType", "precision", "scale")
        return {name: _bare(one) for name, one in found.items() if name not in logical}
    return [_bare(one) for one in found] if isinstance(found, list) else found


def _as_columns(value: Any, schema: Schema) -> Any:
    """What fastavro reads, as the columns have it."""
    match schema:
        case Record():
            return {one.name: _as_columns(value[one.name], one.schema) for one in schema.fields}
        case Items(of):
            return [_as_columns(one, of) for one in value]
        case Values(of):
            pairs = [[name.encode(), _as_columns(one, of)] for name, one in value.items()]
            return sorted(pairs, key=lambda pair: repr(pair[0]))
        case Union() if value is None:
            return None
        case Union():
            return _member(value, schema)
        case Primitive(logical=logical) | Fixed(logical=logical) if logical is not None:
            if logical.name == "decimal":
                return Number(int.from_bytes(value, "big", signed=True)).scaleb(
                    -logical.scale, Context(prec=40)
                )
            is_long = kind_of(schema) == "long"
            factor = 1000 if logical.name.endswith("timestamp-millis") else 1
            return value * factor if is_long else _wrapped(value)
        case Primitive("int"):
            return _wrapped(value)
        case Primitive("float") | Primitive("double"):
            return repr(value)
        case _:
            return value.encode() if isinstance(value, str) else value


def _wrapped(value: int) -> int:
    """Java drops the bits of an int that it has no room for; fastavro knows no limit."""
    folded = (value << 1 if value >= 0 else (-value << 1) - 1) % 2**32
    return (folded >> 1) ^ -(folded & 1)


def _member(value: Any, union: Union) -> Any:
    members = members_of(union)
    if len(members) == 1:
        return _as_columns(value, members[0])
    if (wider := wider_type(union)) is not None:
        return repr(float(value)) if wider == "double" else value
    # fastavro does not say which branch it was. Of those with numbers of its type there is one.
    if isinstance(value, int) and not isinstance(value, bool):
        return _wrapped(value) if Primitive("int") in members else value
    return _as_columns(value, Primitive("double" if isinstance(value, float) else "string"))


def _without_members(row: Any) -> Any:
    match row:
        case {"member0": _}:
            return next(one for one in row.values() if one is not None)
        case dict():
            return {name: _without_members(one) for name, one in row.items()}
        case list():
            return [_without_members(one) for one in row]
        case _:
            return row
