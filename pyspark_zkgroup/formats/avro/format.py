"""What options say of a column of Avro."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pyspark_zkgroup.formats.port import Parser
from pyspark_zkgroup.schema import Type

Framing = Literal["plain", "single-object", "confluent"]


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """See `Format`. The schema is that of all records."""

    name: ClassVar[str] = "avro"
    column: str
    schema: str
    framing: Framing = "plain"

    def parser(self, kind: Type) -> Parser:
        from pyspark_zkgroup.formats.avro.native import AvroParser
        from pyspark_zkgroup.formats.avro.writers import OneWriter

        return AvroParser(kind, self.column, self.framing, OneWriter(self.schema, self.framing))
