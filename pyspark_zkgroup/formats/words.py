"""What the native parsers must know of a type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyspark_zkgroup.schema import INTERVAL, Array, Decimal, Map, Struct, Type

_VALUE_BYTES: Final = 9


def weight(kind: Type) -> int:
    """About how many bytes of columns one takes, apart from texts and elements."""
    if isinstance(kind, Struct):
        return sum(weight(one.type) for one in kind.fields)
    return _VALUE_BYTES


def words(kind: Type) -> Iterator[str]:
    """The type in preorder."""
    match kind:
        case Decimal(precision, scale):
            yield from ("decimal", str(precision), str(scale))
        case Array(element):
            yield "array"
            yield from words(element)
        case Map(key, value):
            yield "map"
            yield from words(key)
            yield from words(value)
        case Struct(fields):
            yield from ("struct", str(len(fields)))
            for one in fields:
                yield one.name
                yield from words(one.type)
        case str(name):
            yield "interval" if name == INTERVAL else name
