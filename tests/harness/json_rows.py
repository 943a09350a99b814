"""Rows of JSON as Python's json reads it, in the form of plain_rows.py: what the native parser is
compared with, as far as both read the same JSON.
"""

from __future__ import annotations

import json
from decimal import ROUND_HALF_UP, Context, DecimalException
from decimal import Decimal as Number
from typing import Any

from pyspark_zkgroup.records.java_text import java_text
from pyspark_zkgroup.schema import Array, Decimal, Map, Struct, Type

_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_DIGITS = Context(prec=5_000, Emax=10**9, Emin=-(10**9))
# What the native parser reads, and Python does not.
_BEYOND = ("'", "INF", "Infinity")


class _Text(str):
    """A number as it is written."""


class _Object(list[tuple[str, Any]]):
    """With all its fields."""


class _Unknown:
    """Equal to anything."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]


class _BadError(Exception):
    """A value has another type."""


_UNKNOWN = _Unknown()
_DECODER = json.JSONDecoder(
    object_pairs_hook=_Object,
    parse_float=_Text,
    parse_int=_Text,
    parse_constant=lambda name: float(name.replace("Infinity", "inf")),
)


def disagreement(kind: Type, value: bytes, our: Any, reason: str | None) -> str | None:
    if reason is not None and "not supported: " in reason:
        return None
    text = java_text(value).lstrip(" \t\r\n")
    try:
        found, _ = _DECODER.raw_decode(text)
    except RecursionError:
        return None
    except ValueError:
        is_refused = reason is not None or not text or any(one in text for one in _BEYOND)
        return None if is_refused else "Python's json refuses it"
    reader = _Reader()
    try:
        theirs = reader.root(kind, found)
    except _BadError:
        return "a value has another type" if reason is None else None
    if reason is not None:
        # Long texts may be beyond a limit that Python does not have.
        return None if reader.is_unsure or len(text) > 900 else f"Python's json reads {theirs}"
    return None if our == theirs else f"Python's json reads {theirs}"


class _Reader:
    """Of one record. `is_unsure` if it has a value that Python does not read."""

    is_unsure = False

    def root(self, kind: Type, found: Any) -> Any:
        if isinstance(kind, Array) and isinstance(found, _Object):
            # Taken for an array of it.
            if isinstance(kind.element, Struct):
                return [self._value(kind.element, found)]
            raise _BadError
        if not isinstance(found, list):
            raise _BadError
        return self._value(kind, found)

    def _value(self, kind: Type, found: Any) -> Any:
        if found is None:
            return None
        match kind, found:
            case Struct(fields), _Object():
                read = {one.name: one.type for one in fields}
                row: dict[str, Any] = dict.fromkeys(read)
                for name, value in found:
                    if name in read:
                        row[name] = self._value(read[name], value)
                return row
            case Map(_, of), _Object():
                pairs = [[_bytes(name), self._value(of, one)] for name, one in found]
                return sorted(pairs, key=lambda pair: repr(pair[0]))
            case Array(of), list() if not isinstance(found, _Object):
                return [self._value(of, one) for one in found]
            case ((Struct() | Map() | Array()), _):
                raise _BadError
            case _:
                read_scalar = _scalar(kind, found)
                self.is_unsure = self.is_unsure or read_scalar is _UNKNOWN
                return read_scalar


def _scalar(kind: Type, found: Any) -> Any:
    is_number = isinstance(found, _Text)
    match kind:
        case "boolean" if isinstance(found, bool):
            return found
        case "string" if is_number or not isinstance(found, str):
            return _UNKNOWN  # JSON as text
        case "string":
            return _bytes(found)
        case str(name) if name in _WHOLE and is_number:
            return _whole(found, _WHOLE[name])
        case "double" if is_number:
            return repr(float(found) if found != "-0" else 0.0)
        case "float" | "double" if isinstance(found, float) or (
            is_number or (isinstance(found, str) and found)
        ):
            return _UNKNOWN
        case Decimal(precision, scale) if is_number:
            return _decimal(found, precision, scale)
        case Decimal() | "binary" | "date" | "timestamp" | "timestamp_ntz" if isinstance(
            found, str
        ):
            return _UNKNOWN
        case _:
            raise _BadError


def _whole(text: str, bits: int) -> int:
    if not text.lstrip("-").isdigit() or len(text) > 40:
        raise _BadError
    found, limit = int(text), 2 ** (bits - 1)
    if not -limit <= found < (256 if bits == 8 else limit):
        raise _BadError
    return found - 256 if bits == 8 and found > 127 else found


def _decimal(text: str, precision: int, scale: int) -> Any:
    try:
        found = Number(text)
        if abs(found.adjusted()) > 2_000:
            return _UNKNOWN
        found = found.quantize(Number(1).scaleb(-scale), ROUND_HALF_UP, _DIGITS)
    except DecimalException:
        return _UNKNOWN
    if abs(found) >= Number(10) ** (precision - scale):
        raise _BadError
    return found


def _bytes(text: str) -> bytes:
    """Half of a surrogate pair becomes `?`, as in Java."""
    return text.encode("utf-8", "replace")
