"""Where the schemas that records were written with come from."""

from __future__ import annotations

from typing import Protocol

from pyspark_zkgroup.formats.avro.fingerprint import fingerprint
from pyspark_zkgroup.formats.avro.schema import Schema, SchemaError, parse


class Writers(Protocol):
    reader: Schema | None
    """The schema of the columns, if they have one of their own."""

    def schema(self, number: int) -> Schema:
        """The schema that a record names; 0 if it names none. SchemaError if there is none."""


class OneWriter:
    """One schema for all records, whatever number they have."""

    def __init__(self, text: str, framing: str) -> None:
        self.reader: Schema | None = None
        self._schema = parse(text)
        self._fingerprint = fingerprint(self._schema) if framing == "single-object" else None

    def schema(self, number: int) -> Schema:
        if self._fingerprint not in (None, number):
            raise SchemaError(
                f"it was written with the schema of the fingerprint {number:016x}, not "
                f"{self._fingerprint:016x}"
            )
        return self._schema
