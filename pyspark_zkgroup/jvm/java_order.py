"""The two facts about Java strings that every member must agree on: their order and their hash."""

from __future__ import annotations

import struct

_UNIT = struct.Struct(">H")


def compare_key(text: str) -> bytes:
    """A sort key in the order of `String.compareTo`: by UTF-16 code units.

    Python compares by code points, which differs as soon as a character above U+FFFF (two
    surrogates in Java) meets one between U+E000 and U+FFFF.
    """
    return text.encode("utf-16-be", "surrogatepass")


def hash_code(text: str) -> int:
    """`String.hashCode`: h = 31 * h + unit over the UTF-16 code units, as a signed 32-bit int."""
    units = compare_key(text)
    value = 0
    for (unit,) in _UNIT.iter_unpack(units):
        value = (31 * value + unit) & 0xFFFFFFFF
    return signed(value)


def signed(value: int) -> int:
    """The signed 32-bit number with the low 32 bits of `value`."""
    value &= 0xFFFFFFFF
    return value - 0x100000000 if value & 0x80000000 else value
