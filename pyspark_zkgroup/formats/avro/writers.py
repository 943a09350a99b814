"""Where the schemas that records were written with come from."""

from __future__ import annotations

from typing import Protocol

from pyspark_zkgroup.formats.avro.fingerprint import fingerprint
from pyspark_zkgroup.formats.avro.schema import Named, Schema, SchemaError, parse
from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess
from pyspark_zkgroup.registry.http import NotFoundError
from pyspark_zkgroup.registry.schemas import schema_of_id


class Writers(Protocol):
    reader: Schema | None
    """The schema of the columns, if they have their own."""

    def schema(self, number: int) -> Schema:
        """The schema that a record names; 0 if it names none. SchemaError if there is none."""


class OneWriter:
    """One schema for all records, whatever number they have."""

    def __init__(self, schema: RegisteredSchema, framing: str) -> None:
        self.reader: Schema | None = None
        self._schema = parsed(schema)
        self._fingerprint = fingerprint(self._schema) if framing == "single-object" else None

    def schema(self, number: int) -> Schema:
        if self._fingerprint not in (None, number):
            raise SchemaError(
                f"it was written with the schema of the fingerprint {number:016x}, not "
                f"{self._fingerprint:016x}"
            )
        return self._schema


class RegisteredWriters:
    """Each record names its schema's id."""

    def __init__(self, access: RegistryAccess, reader: RegisteredSchema | None) -> None:
        self.reader = None if reader is None else parsed(reader)
        self._access = access

    def schema(self, number: int) -> Schema:
        try:
            return parsed(schema_of_id(self._access, number))
        except NotFoundError as error:
            raise SchemaError(str(error)) from None


def parsed(schema: RegisteredSchema) -> Schema:
    """SchemaError if it is none of Avro's."""
    if schema.kind != "AVRO":
        raise SchemaError(f"its schema is {schema.kind}, not AVRO")
    names: dict[str, Named] = {}
    for text in schema.references:
        parse(text, names)
    return parse(schema.text, names)
