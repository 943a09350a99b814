"""The native reader: straight from the bytes of records into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_zkgroup.formats.pieces import pieces
from pyspark_zkgroup.formats.port import Parsed
from pyspark_zkgroup.formats.protobuf.declared import SchemaError
from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
from pyspark_zkgroup.formats.protobuf.program import Step, steps
from pyspark_zkgroup.formats.protobuf.sources import messages_of
from pyspark_zkgroup.formats.words import words
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.registry.http import NotFoundError
from pyspark_zkgroup.registry.schemas import schema_of_id
from pyspark_zkgroup.schema import Type, arrow_type


class ProtobufParser:
    """See `Parser`."""

    def __init__(self, kind: Type, form: ProtobufFormat) -> None:
        self._native = _decoder.ProtobufParser(list(words(kind)), form.framing == "confluent")
        self._form = form
        self._kind = kind
        self._type = arrow_type(kind)

    def parse(self, column: pa.BinaryArray) -> Iterator[Parsed]:
        yield from pieces(column, self._type, self._native.parse, self._learn)

    def _learn(self, number: int) -> None:
        schema, path = self._native.frame(number)
        self._native.add(number, list(self._steps(schema, path)))

    def _steps(self, schema: int, path: Sequence[int]) -> Sequence[Step]:
        """All records of a message that cannot become the column are bad."""
        form = self._form
        if form.registry is None:
            assert form.steps is not None
            return form.steps
        try:
            found = messages_of(schema_of_id(form.registry, schema)).at(path)
            if form.message not in (None, found.name):
                raise SchemaError(f"it is a {found.name}, not a {form.message}")
            if form.steps is not None:
                return form.steps
            return steps(found, self._kind, form.column, may_miss=True)
        except (NotFoundError, SchemaError) as error:
            return [("bad", [], [str(error)])]
