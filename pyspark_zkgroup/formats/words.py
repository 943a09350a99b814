"""A type as words in preorder, as the native parsers read it."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_zkgroup.schema import Array, Decimal, Map, Struct, Type


def words(kind: Type) -> Iterator[str]:
    match kind:
        case Decimal(precision, scale):
            yield from ("decimal", str(precision), str(scale))
        case Array(element):
            yield "array"
            yield from words(element)
        case Map(_, value):
            yield "map"
            yield from words(value)
        case Struct(fields):
            yield from ("struct", str(len(fields)))
            for one in fields:
                yield one.name
                yield from words(one.type)
        case str(name):
            yield name
