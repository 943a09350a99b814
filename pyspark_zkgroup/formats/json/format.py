"""What options say of a column of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pyspark_zkgroup.formats.port import Parser
from pyspark_zkgroup.schema import Type


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """See `Format`."""

    name: ClassVar[str] = "json"
    time_zone: str = "UTC"

    def parser(self, kind: Type) -> Parser:
        from pyspark_zkgroup.formats.json.native import JsonParser

        return JsonParser(kind, self.time_zone)
