"""What a .proto file declares, as it says it: names of types are not resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCALARS: Final = (
    "double",
    "float",
    "int32",
    "int64",
    "uint32",
    "uint64",
    "sint32",
    "sint64",
    "fixed32",
    "fixed64",
    "sfixed32",
    "sfixed64",
    "bool",
    "string",
    "bytes",
)
DEPTH_MAX: Final = 100
BYTES_MAX: Final = 4 * 1024 * 1024

_ESCAPES: Final = {
    "a": 7,
    "b": 8,
    "f": 12,
    "n": 10,
    "r": 13,
    "t": 9,
    "v": 11,
    "\\": 92,
    "'": 39,
    '"': 34,
    "?": 63,
}


class SchemaError(ValueError):
    """It describes no messages of Protobuf, or not those that are wanted; says why."""


@dataclass(frozen=True, slots=True)
class FieldDeclared:
    name: str
    number: int
    type: str
    """A scalar, or the name of a type; with a dot in front from the root."""
    label: str = ""
    """optional, required or repeated; else empty."""
    is_group: bool = False
    oneof: int | None = None
    default: str | None = None
    """As text; bytes are escaped."""


@dataclass(frozen=True, slots=True)
class EnumDeclared:
    name: str
    values: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class MessageDeclared:
    name: str
    fields: tuple[FieldDeclared, ...] = ()
    messages: tuple[MessageDeclared, ...] = ()
    enums: tuple[EnumDeclared, ...] = ()
    is_map_entry: bool = False


@dataclass(frozen=True, slots=True)
class FileDeclared:
    package: str
    syntax: str
    """proto2 or proto3."""
    messages: tuple[MessageDeclared, ...]
    enums: tuple[EnumDeclared, ...]


def check_syntax(syntax: str) -> str:
    if syntax not in ("proto2", "proto3"):
        raise SchemaError(f"its syntax is {syntax}, but proto2 and proto3 are supported")
    return syntax


def unescaped(text: str) -> bytes:
    """Bytes or text in the escapes of C. ValueError or KeyError if there are others."""
    out, at = bytearray(), 0
    while at < len(text):
        if text[at] != "\\":
            out += text[at].encode()
            at += 1
            continue
        letter = text[at + 1 : at + 2]
        if letter in ("x", "X"):
            out.append(int(text[at + 2 : at + 4], 16))
            at += 4
        elif letter.isdecimal():
            digits = text[at + 1 : at + 4]
            out.append(int(digits, 8) & 0xFF)
            at += 4
        else:
            out.append(_ESCAPES[letter])
            at += 2
    return bytes(out)
