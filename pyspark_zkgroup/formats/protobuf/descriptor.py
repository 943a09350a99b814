"""Reads a FileDescriptorSet, as `protoc --descriptor_set_out` writes it.

The package protobuf is not needed: that of a cluster may be any version, or missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark_zkgroup.formats.protobuf.declared import (
    BYTES_MAX,
    DEPTH_MAX,
    EnumDeclared,
    FieldDeclared,
    FileDeclared,
    MessageDeclared,
    SchemaError,
    check_syntax,
)

_LABELS = {1: "optional", 2: "required", 3: "repeated"}
_TYPES = {
    1: "double",
    2: "float",
    3: "int64",
    4: "uint64",
    5: "int32",
    6: "fixed64",
    7: "fixed32",
    8: "bool",
    9: "string",
    12: "bytes",
    13: "uint32",
    15: "sfixed32",
    16: "sfixed64",
    17: "sint32",
    18: "sint64",
}
_GROUP, _MESSAGE, _ENUM = 10, 11, 14
_Found = Mapping[int, list[int | bytes]]


def files(data: bytes) -> tuple[FileDeclared, ...]:
    """SchemaError if it is no FileDescriptorSet."""
    if len(data) > BYTES_MAX:
        raise SchemaError(f"it has more than {BYTES_MAX} bytes")
    found = tuple(_file(_fields(one)) for one in _all(_fields(data), 1))
    if not found:
        raise SchemaError("it is a FileDescriptorSet without files")
    return found


def _file(found: _Found) -> FileDeclared:
    return FileDeclared(
        _text(found, 2),
        check_syntax(_text(found, 12) or "proto2"),
        tuple(_message(_fields(one), 0) for one in _all(found, 4)),
        tuple(_enum(_fields(one)) for one in _all(found, 5)),
    )


def _message(found: _Found, depth: int) -> MessageDeclared:
    if depth > DEPTH_MAX:
        raise SchemaError("its messages are nested too deeply")
    options = _fields(_joined(found, 7))
    return MessageDeclared(
        _text(found, 1),
        tuple(_field(_fields(one)) for one in _all(found, 2)),
        tuple(_message(_fields(one), depth + 1) for one in _all(found, 3)),
        tuple(_enum(_fields(one)) for one in _all(found, 4)),
        is_map_entry=bool(_number(options, 7)),
    )


def _field(found: _Found) -> FieldDeclared:
    name, kind = _text(found, 1), _number(found, 5)
    type_name = _text(found, 6)
    if kind not in (*_TYPES, _GROUP, _MESSAGE, _ENUM):
        raise SchemaError(f"its field {name!r} has no type")
    # A field of proto3 with the label optional is alone in a oneof, which has no other use.
    is_alone = bool(_number(found, 17))
    label = _LABELS.get(_number(found, 4) or 0, "")
    return FieldDeclared(
        name,
        _number(found, 3) or 0,
        _TYPES.get(kind, type_name),
        "" if label == "optional" and not is_alone else label,
        kind == _GROUP,
        None if is_alone else _number(found, 9),
        _text(found, 7) if 7 in found else None,
    )


def _enum(found: _Found) -> EnumDeclared:
    values = [_fields(one) for one in _all(found, 2)]
    return EnumDeclared(
        _text(found, 1), tuple((_signed(_number(one, 2) or 0), _text(one, 1)) for one in values)
    )


def _fields(data: bytes) -> _Found:
    found: dict[int, list[int | bytes]] = {}
    for number, value in _written(data):
        found.setdefault(number, []).append(value)
    return found


def _written(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(data, at)
        elif tag & 7 in (1, 2, 5):
            length, at = _varint(data, at) if tag & 7 == 2 else ((8, 4)[tag & 7 == 5], at)
            value, at = data[at : at + length], at + length
        else:
            raise _damaged()
        if at > len(data):
            raise _damaged()
        yield tag >> 3, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise _damaged()
        found |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            return found & (2**64 - 1), at
    raise _damaged()


def _all(found: _Found, number: int) -> list[bytes]:
    values = found.get(number, [])
    if not all(isinstance(one, bytes) for one in values):
        raise _damaged()
    return [one for one in values if isinstance(one, bytes)]


def _joined(found: _Found, number: int) -> bytes:
    return b"".join(_all(found, number))


def _text(found: _Found, number: int) -> str:
    values = _all(found, number)
    try:
        return values[-1].decode() if values else ""
    except UnicodeDecodeError:
        raise _damaged() from None


def _number(found: _Found, number: int) -> int | None:
    values = found.get(number)
    if not values:
        return None
    value = values[-1]
    if not isinstance(value, int):
        raise _damaged()
    return value


def _signed(value: int) -> int:
    value &= 2**32 - 1
    return value - 2**32 if value >= 2**31 else value


def _damaged() -> SchemaError:
    return SchemaError("it is no FileDescriptorSet")
