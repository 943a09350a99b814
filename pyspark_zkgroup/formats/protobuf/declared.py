"""What a .proto file declares, as it says it: names of types are not resolved."""

from __future__ import annotations

import re
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

_NUMBER: Final = re.compile(r"-?(?:0[xX][0-9a-fA-F]+|[0-9]+)")
_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|[xX]([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.?))",
    re.DOTALL,
)
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


def number(text: str) -> int:
    """Decimal, octal or hexadecimal, as in C. SchemaError if it is none."""
    if _NUMBER.fullmatch(text):
        sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
        is_octal = len(digits) > 1 and digits.isdecimal() and digits[0] == "0"
        try:
            return sign * (int(digits, 8) if is_octal else int(digits, 0))
        except ValueError:  # an 8 in an octal one, or more digits than Python reads
            pass
    raise SchemaError(f"it is no .proto text: {text[:60]!r} is not a number")


def unescaped(text: str) -> bytes:
    """Bytes or text in the escapes of C. SchemaError if there are others."""
    out, at = bytearray(), 0
    for found in _ESCAPE.finditer(text):
        out += text[at : found.start()].encode() + _character(found)
        at = found.end()
    return bytes(out) + text[at:].encode()


def _character(escape: re.Match[str]) -> bytes:
    octal, hexadecimal, point, long_point, letter = escape.groups()
    try:
        if point or long_point:
            return chr(int(point or long_point, 16)).encode()
        if letter is not None:
            return bytes([_ESCAPES[letter]])
    except (KeyError, ValueError, OverflowError):
        raise SchemaError(f"it is no .proto text: {escape[0]!r} is no escape") from None
    return bytes([int(octal, 8) & 0xFF if octal else int(hexadecimal, 16)])
