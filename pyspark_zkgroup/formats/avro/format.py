"""What options say of a column of Avro."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pyspark_zkgroup.formats.port import Parser
from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess
from pyspark_zkgroup.schema import Type

Framing = Literal["plain", "single-object", "confluent"]


@dataclass(frozen=True, slots=True)
class AvroFormat:
    """See `Format`. Without a registry the schema is that of all records, with one it is that of
    the columns; none: that of each record's writer.
    """

    name: ClassVar[str] = "avro"
    column: str
    schema: RegisteredSchema | None
    framing: Framing = "plain"
    registry: RegistryAccess | None = None

    def parser(self, kind: Type) -> Parser:
        from pyspark_zkgroup.formats.avro.native import AvroParser
        from pyspark_zkgroup.formats.avro.writers import OneWriter, RegisteredWriters, Writers

        writers: Writers
        if self.registry is not None:
            writers = RegisteredWriters(self.registry, self.schema)
        else:
            assert self.schema is not None
            writers = OneWriter(self.schema, self.framing)
        return AvroParser(kind, self.column, self.framing, writers)
