"""What options say of a column of Protobuf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from pyspark_zkgroup.formats.port import Parser
from pyspark_zkgroup.formats.protobuf.program import Step
from pyspark_zkgroup.registry.access import RegistryAccess
from pyspark_zkgroup.schema import Type

Framing = Literal["plain", "confluent"]


@dataclass(frozen=True, slots=True)
class ProtobufFormat:
    """See `Format`."""

    name: ClassVar[str] = "protobuf"
    column: str
    message: str | None
    """The full name of the message that records have; None: any."""
    steps: tuple[Step, ...] | None
    """How it becomes the column; None: as the schema says that a record names."""
    framing: Framing = "plain"
    registry: RegistryAccess | None = None

    def parser(self, kind: Type) -> Parser:
        from pyspark_zkgroup.formats.protobuf.native import ProtobufParser

        return ProtobufParser(kind, self)
