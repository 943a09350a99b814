"""Which type of Spark an Avro schema becomes: that of Spark's from_avro."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Fixed,
    Items,
    Logical,
    Primitive,
    Record,
    Schema,
    SchemaError,
    Union,
    Values,
    is_null,
)
from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type

PRECISION_MAX: Final = 38
PARTS_MAX: Final = 20_000

_PRIMITIVES: Final = {
    "boolean": "boolean",
    "int": "int",
    "long": "bigint",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
}
_LOGICAL: Final = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
_WIDER: Final = {frozenset(("int", "long")): "bigint", frozenset(("float", "double")): "double"}


def spark_type(schema: Schema, path: str = "value") -> Type:
    """SchemaError if Spark has none for it."""
    try:
        return _type(schema, path, (), count())
    except RecursionError:
        raise SchemaError(f"{path} is nested too deeply") from None


def _type(schema: Schema, path: str, around: tuple[Record, ...], parts: Iterator[int]) -> Type:
    if next(parts) > PARTS_MAX:
        raise SchemaError(f"it becomes more than {PARTS_MAX} columns")
    match schema:
        case Primitive("null"):
            raise SchemaError(f"{path} is always null, and a column needs a type")
        case Primitive(kind, logical):
            return _logical_type(logical, path) or _PRIMITIVES[kind]
        case Fixed():
            return _logical_type(schema.logical, path) or "binary"
        case Enum():
            return "string"
        case Items(of):
            return Array(_type(of, f"{path}.element", around, parts))
        case Values(of):
            return Map("string", _type(of, f"{path}.value", around, parts))
        case Union():
            return _union(schema, path, around, parts)
    if schema in around:
        cycle = f"{schema.name} within a {schema.name}"
        raise SchemaError(f"{path} is a {cycle}: the type is recursive")
    if not schema.fields:
        raise SchemaError(f"{path} is a {schema.name}, which has no fields")
    fields = (
        Column(one.name, _type(one.schema, f"{path}.{one.name}", (*around, schema), parts))
        for one in schema.fields
    )
    return Struct(tuple(fields))


def _union(union: Union, path: str, around: tuple[Record, ...], parts: Iterator[int]) -> Type:
    members = members_of(union)
    if not members:
        raise SchemaError(f"{path} is always null, and a column needs a type")
    if len(members) == 1:
        return _type(members[0], path, around, parts)
    if (wider := wider_type(union)) is not None:
        return wider
    fields = (
        Column(f"member{at}", _type(one, f"{path}.member{at}", around, parts))
        for at, one in enumerate(members)
    )
    return Struct(tuple(fields))


def members_of(union: Union) -> tuple[Schema, ...]:
    return tuple(one for one in union.branches if not is_null(one))


def wider_type(union: Union) -> str | None:
    """Of a union whose branches are numbers of two sizes."""
    kinds = [one.kind for one in members_of(union) if isinstance(one, Primitive)]
    return _WIDER.get(frozenset(kinds)) if len(kinds) == len(members_of(union)) == 2 else None


def _logical_type(logical: Logical | None, path: str) -> Type | None:
    """Other than Spark 4.1, a time of the day stays a number."""
    if logical is None:
        return None
    if logical.name != "decimal":
        return _LOGICAL.get(logical.name)
    if logical.precision > PRECISION_MAX:
        raise SchemaError(
            f"{path} is a decimal of {logical.precision} digits, but a DECIMAL has at most "
            f"{PRECISION_MAX}"
        )
    return Decimal(logical.precision, logical.scale)
