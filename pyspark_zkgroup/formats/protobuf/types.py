"""Which type of Spark a message becomes: that of Spark's from_protobuf."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from pyspark_zkgroup.formats.protobuf.declared import SchemaError
from pyspark_zkgroup.formats.protobuf.schema import Enum, Field, Message
from pyspark_zkgroup.schema import INTERVAL, Array, Column, Map, Struct, Type

PARTS_MAX: Final = 20_000

SCALARS: Final = {
    "double": "double",
    "float": "float",
    "int32": "int",
    "int64": "bigint",
    "uint32": "int",
    "uint64": "bigint",
    "sint32": "int",
    "sint64": "bigint",
    "fixed32": "int",
    "fixed64": "bigint",
    "sfixed32": "int",
    "sfixed64": "bigint",
    "bool": "boolean",
    "string": "string",
    "bytes": "binary",
}
_TIMES: Final = {"Timestamp": "timestamp", "Duration": INTERVAL}
_SECONDS: Final = ("int64", "sint64", "sfixed64", "uint64", "fixed64")
_NANOS: Final = ("int32", "sint32", "sfixed32", "uint32", "fixed32")


def spark_type(message: Message, path: str = "value") -> Struct:
    """SchemaError if Spark has none for it."""
    try:
        found = _struct(message, path, (message,), count())
    except RecursionError:
        raise SchemaError(f"{path} is nested too deeply") from None
    if found is None:
        raise SchemaError(f"{path} is a {message.name}, which has no fields")
    return found


def time_of(message: Message) -> str | None:
    """Of messages with seconds and nanoseconds, in whatever package they are."""
    kind = _TIMES.get(message.name.rpartition(".")[2])
    if kind is None or [one.name for one in message.fields] != ["seconds", "nanos"]:
        return None
    seconds, nanos = message.fields
    is_time = seconds.type in _SECONDS and nanos.type in _NANOS
    return kind if is_time and not (seconds.is_repeated or nanos.is_repeated) else None


def _struct(
    message: Message, path: str, around: tuple[Message, ...], parts: Iterator[int]
) -> Struct | None:
    """None if it has no fields: Spark leaves such ones out."""
    fields = (
        (one.name, _field(one, f"{path}.{one.name}", around, parts)) for one in message.fields
    )
    found = tuple(Column(name, kind) for name, kind in fields if kind is not None)
    return Struct(found) if found else None


def _field(
    field: Field, path: str, around: tuple[Message, ...], parts: Iterator[int]
) -> Type | None:
    if isinstance(field.type, Message) and field.type.is_map_entry and field.is_repeated:
        key, value = (_type(one.type, path, around, parts) for one in entry_of(field.type))
        return None if key is None or value is None else Map(key, value)
    found = _type(field.type, path, around, parts)
    return Array(found) if found is not None and field.is_repeated else found


def entry_of(message: Message) -> tuple[Field, Field]:
    """The key and the value."""
    by_name = {one.name: one for one in message.fields}
    try:
        key, value = by_name["key"], by_name["value"]
    except KeyError:
        raise SchemaError(f"{message.name} has no key and value") from None
    if not isinstance(key.type, str) or key.is_repeated or value.is_repeated:
        raise SchemaError(f"{message.name} is no entry of a map")
    return key, value


def _type(
    kind: str | Enum | Message, path: str, around: tuple[Message, ...], parts: Iterator[int]
) -> Type | None:
    if next(parts) > PARTS_MAX:
        raise SchemaError(f"it becomes more than {PARTS_MAX} columns")
    if isinstance(kind, str):
        return SCALARS[kind]
    if isinstance(kind, Enum):
        return "string"
    if (time := time_of(kind)) is not None:
        return time
    if kind in around:
        cycle = f"{kind.name} within a {kind.name}"
        raise SchemaError(f"{path} is a {cycle}: the type is recursive")
    return _struct(kind, path, (*around, kind), parts)
