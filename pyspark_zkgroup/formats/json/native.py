"""The native parser: straight from the bytes of records into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_zkgroup.formats.json.zone import offsets
from pyspark_zkgroup.formats.port import Parsed
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.records.native import to_array
from pyspark_zkgroup.schema import Array, Decimal, Map, Struct, Type, arrow_type


class JsonParser:
    """See `Parser`."""

    def __init__(self, kind: Type, time_zone: str) -> None:
        zone = offsets(time_zone)
        words = list(_words(kind))
        self._native = _decoder.JsonParser(words, zone.first_s, list(zone.changes), zone.span_s)
        self._type = arrow_type(kind)

    def parse(self, column: pa.BinaryArray) -> Iterator[Parsed]:
        validity, ends, data = (
            None if buffer is None else buffer.to_pybytes() for buffer in column.buffers()
        )
        begin, end = column.offset, column.offset + len(column)
        while begin < end:
            found = self._native.parse((validity, ends or b"", data or b""), begin, end)
            begin += found.rows
            yield Parsed(
                to_array(self._type, found.values),
                to_array(pa.string(), found.reasons),
                found.bad,
            )


def _words(kind: Type) -> Iterator[str]:
    match kind:
        case Decimal(precision, scale):
            yield from ("decimal", str(precision), str(scale))
        case Array(element):
            yield "array"
            yield from _words(element)
        case Map(_, value):
            yield "map"
            yield from _words(value)
        case Struct(fields):
            yield from ("struct", str(len(fields)))
            for one in fields:
                yield one.name
                yield from _words(one.type)
        case str(name):
            yield name
