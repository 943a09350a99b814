"""The columns of rows, as Spark's own Kafka source names and types them, and types as plain values.

A scalar type is Spark's name of it (`bigint`, `timestamp_ntz`). Nothing here is NOT NULL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Decimal:
    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Column, ...]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{one.name}:{one.type}' for one in self.fields)}>"


Type = str | Decimal | Array | Map | Struct

INTERVAL: Final = "interval day to second"


@dataclass(frozen=True, slots=True)
class Column:
    """A column, or a field of a struct."""

    name: str
    type: Type


def type_of(plain: object) -> Type:
    """Return the type that `dataclasses.asdict` made this of. ValueError if there is none."""
    match plain:
        case str():
            return plain
        case {"precision": int(precision), "scale": int(scale)}:
            return Decimal(precision, scale)
        case {"element": element}:
            return Array(type_of(element))
        case {"key": key, "value": value}:
            return Map(type_of(key), type_of(value))
        case {"fields": [*fields]}:
            return Struct(tuple(column_of(one) for one in fields))
    raise ValueError(f"{plain!r} is not a type")


def column_of(plain: object) -> Column:
    match plain:
        case {"name": str(name), "type": kind}:
            return Column(name, type_of(kind))
    raise ValueError(f"{plain!r} is not a column")


KEY: Final = Column("key", "binary")
VALUE: Final = Column("value", "binary")
HEADERS: Final = Column("headers", Array(Struct((Column("key", "string"), VALUE))))
COLUMNS: Final = (
    KEY,
    VALUE,
    Column("topic", "string"),
    Column("partition", "int"),
    Column("offset", "bigint"),
    Column("timestamp", "timestamp"),
    Column("timestampType", "int"),
)
"""Those of rows whose reader names no columns."""
WITH_HEADERS: Final = (*COLUMNS, HEADERS)

CORRUPT: Final = Column("corrupt", Struct((Column("bytes", "binary"), Column("reason", "string"))))
"""Null, unless a key or a value of a typed format could not be read; then its bytes, and why."""

_PLAIN_NAMES = ("key", "value", "bytes", "reason")

NO_TIMESTAMP_TYPE = -1
"""timestampType of a record from before Kafka 0.10, which has no time: its timestamp is then -1 ms,
as for the JVM.
"""
CREATE_TIME = 0
LOG_APPEND_TIME = 1


def spark_ddl(columns: tuple[Column, ...]) -> str:
    return ", ".join(f"{one.name} {ddl(one.type)}" for one in columns)


def ddl(kind: Type) -> str:
    """As Spark reads it, whatever the names of fields are."""
    match kind:
        case Array(element):
            return f"array<{ddl(element)}>"
        case Map(key, value):
            return f"map<{ddl(key)},{ddl(value)}>"
        case Struct(fields):
            return f"struct<{','.join(f'{_quoted(one.name)}:{ddl(one.type)}' for one in fields)}>"
        case _:
            return str(kind)


def _quoted(name: str) -> str:
    return name if name in _PLAIN_NAMES else "`" + name.replace("`", "``") + "`"


@cache
def arrow_schema(columns: tuple[Column, ...]) -> pa.Schema:
    """Exactly what Spark makes of these columns: it compares the first batch with that and accepts
    nothing else.

    Headers are null for a record that has none.
    """
    # Not above: every Spark query of a machine imports this package to look for data sources.
    import pyarrow as pa

    return pa.schema([pa.field(one.name, arrow_type(one.type)) for one in columns])


@cache
def arrow_type(kind: Type) -> pa.DataType:
    import pyarrow as pa

    match kind:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(pa.field("element", arrow_type(element)))
        case Map(key, value):
            return pa.map_(
                pa.field("key", arrow_type(key), nullable=False),
                pa.field("value", arrow_type(value)),
            )
        case Struct(fields):
            return pa.struct([pa.field(one.name, arrow_type(one.type)) for one in fields])
        case str(name):
            return _SCALARS[name](pa)


_SCALARS = {
    "binary": lambda pa: pa.binary(),
    "string": lambda pa: pa.string(),
    "boolean": lambda pa: pa.bool_(),
    "tinyint": lambda pa: pa.int8(),
    "smallint": lambda pa: pa.int16(),
    "int": lambda pa: pa.int32(),
    "bigint": lambda pa: pa.int64(),
    "float": lambda pa: pa.float32(),
    "double": lambda pa: pa.float64(),
    "date": lambda pa: pa.date32(),
    "timestamp": lambda pa: pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": lambda pa: pa.timestamp("us"),
    INTERVAL: lambda pa: pa.duration("us"),
}
