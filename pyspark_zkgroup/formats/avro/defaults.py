"""The defaults of fields, encoded as if they had been written."""

from __future__ import annotations

import struct
from typing import Any, Final

from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Field,
    Fixed,
    Items,
    Primitive,
    Record,
    Schema,
    SchemaError,
    Union,
    Values,
)

DEFAULT_BYTES_MAX: Final = 4 * 1024 * 1024
_BITS = {"int": 31, "long": 63}
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def encoded(field: Field) -> bytes:
    """SchemaError if its default is no value of its schema."""
    return _Encoder().default(field)


class _Encoder:
    def __init__(self) -> None:
        self._made: dict[int, bytes] = {}
        """Of fields with a default: those of a record may hold each other many times."""

    def default(self, field: Field) -> bytes:
        if id(field) not in self._made:
            self._made[id(field)] = self._value(field.default, field.schema)
        return self._made[id(field)]

    def _value(self, value: Any, schema: Schema) -> bytes:
        match schema:
            case Primitive(kind):
                return _primitive(value, kind)
            case Fixed(size=size) if isinstance(value, str) and len(value) == size:
                return _bytes(value)
            case Enum(symbols=symbols) if value in symbols:
                return _number(symbols.index(value))
            case Items(of) if isinstance(value, list):
                return _block([self._value(one, of) for one in value])
            case Values(of) if isinstance(value, dict):
                return _block([_text(name) + self._value(one, of) for name, one in value.items()])
            case Record(fields=fields) if isinstance(value, dict):
                return self._record(value, fields)
            case Union(branches):
                return self._first(value, branches)
        raise SchemaError(f"{value!r} is no {type(schema).__name__.lower()}")

    def _record(self, value: dict[str, Any], fields: tuple[Field, ...]) -> bytes:
        made = bytearray()
        for one in fields:
            made += self._field(value, one)
            if len(made) > DEFAULT_BYTES_MAX:
                raise SchemaError(f"it takes more than {DEFAULT_BYTES_MAX} bytes")
        return bytes(made)

    def _field(self, value: dict[str, Any], field: Field) -> bytes:
        if field.name in value:
            return self._value(value[field.name], field.schema)
        if field.has_default:
            return self.default(field)
        raise SchemaError(f"it has no field {field.name!r}")

    def _first(self, value: Any, branches: tuple[Schema, ...]) -> bytes:
        for at, branch in enumerate(branches):
            try:
                return _number(at) + self._value(value, branch)
            except SchemaError:
                continue
        raise SchemaError(f"{value!r} is of no branch of the union")


def _primitive(value: Any, kind: str) -> bytes:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    match kind:
        case "null" if value is None:
            return b""
        case "boolean" if isinstance(value, bool):
            return bytes([value])
        case "int" | "long" if isinstance(value, int) and is_number:
            if -(2 ** _BITS[kind]) <= value < 2 ** _BITS[kind]:
                return _number(value)
        case "float" | "double" if is_number:
            return _float(value, "<f" if kind == "float" else "<d")
        case "float" | "double" if value in _NOT_FINITE:
            return _float(float(value), "<f" if kind == "float" else "<d")
        case "bytes" if isinstance(value, str):
            data = _bytes(value)
            return _number(len(data)) + data
        case "string" if isinstance(value, str):
            return _text(value)
    raise SchemaError(f"{value!r} is no {kind}")


def _float(value: float, form: str) -> bytes:
    try:
        return struct.pack(form, value)
    except OverflowError:
        raise SchemaError(f"{value!r} is too large") from None


def _bytes(text: str) -> bytes:
    """Each character is a byte."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        raise SchemaError(f"{text!r} is no bytes") from None


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogatepass")
    return _number(len(data)) + data


def _block(items: list[bytes]) -> bytes:
    head = _number(len(items)) if items else b""
    return head + b"".join(items) + _number(0)


def _number(value: int) -> bytes:
    """0, -1, 1, -2 become 0, 1, 2, 3, of seven bits to a byte, the lowest first."""
    folded = value << 1 if value >= 0 else (-value << 1) - 1
    made = bytearray()
    while folded > 0x7F:
        made.append(folded & 0x7F | 0x80)
        folded >>= 7
    made.append(folded)
    return bytes(made)
