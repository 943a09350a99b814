"""The native reader: straight from the bytes of records into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from pyspark_zkgroup.formats.avro.format import Framing
from pyspark_zkgroup.formats.avro.resolve import Step, steps
from pyspark_zkgroup.formats.avro.schema import SchemaError
from pyspark_zkgroup.formats.avro.writers import Writers
from pyspark_zkgroup.formats.pieces import pieces
from pyspark_zkgroup.formats.port import Parsed
from pyspark_zkgroup.formats.words import words
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.schema import Type, arrow_type


class AvroParser:
    """See `Parser`."""

    def __init__(self, kind: Type, column: str, framing: Framing, writers: Writers) -> None:
        self._native = _decoder.AvroParser(list(words(kind)), framing)
        self._writers = writers
        self._kind = kind
        self._column = column
        self._type = arrow_type(kind)

    def parse(self, column: pa.BinaryArray) -> Iterator[Parsed]:
        yield from pieces(column, self._type, self._native.parse, self._learn)

    def _learn(self, number: int) -> None:
        self._native.add(number, self._steps(number))

    def _steps(self, number: int) -> list[Step]:
        """All records of a schema that cannot become the columns are bad."""
        try:
            writer = self._writers.schema(number)
            return steps(writer, self._writers.reader, self._kind, self._column)
        except SchemaError as error:
            return [("bad", [], [str(error)])]
