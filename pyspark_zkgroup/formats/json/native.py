"""The native parser: straight from the bytes of records into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_zkgroup.formats.json.zone import offsets
from pyspark_zkgroup.formats.pieces import pieces
from pyspark_zkgroup.formats.port import Parsed
from pyspark_zkgroup.formats.words import words
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.schema import Type, arrow_type


class JsonParser:
    """See `Parser`."""

    def __init__(self, kind: Type, time_zone: str) -> None:
        zone = offsets(time_zone)
        self._native = _decoder.JsonParser(
            list(words(kind)), zone.first_s, list(zone.changes), zone.span_s
        )
        self._type = arrow_type(kind)

    def parse(self, column: pa.BinaryArray) -> Iterator[Parsed]:
        yield from pieces(column, self._type, self._native.parse, _nothing)


def _nothing(_schema: int) -> None:
    """JSON names no schemas."""
