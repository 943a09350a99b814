"""Keys and values of Avro: their schema, and what stands before each encoded value.

The rooms that read schemas are imported where a column is Avro: four processes of each query import
this module for its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.registry import KEY_SUBJECT, URL, VALUE_SUBJECT, subject_of
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.registry.access import RegisteredSchema, RegistryAccess
from pyspark_zkgroup.schema import Column, Type

if TYPE_CHECKING:
    from pyspark_zkgroup.formats.avro.format import AvroFormat, Framing

_JSON_BEGINS = ("{", "[", '"')


def _schema(text: str) -> str:
    """As text, also of a file."""
    from pyspark_zkgroup.formats.avro.schema import SchemaError, parse

    rules.not_empty(text)
    if not text.startswith(_JSON_BEGINS):
        text = _file(text)
    try:
        parse(text)
    except SchemaError as error:
        raise ValueError(f"is no Avro schema: {error}") from None
    return text


def _file(path: str) -> str:
    from pyspark_zkgroup.formats.avro.schema import TEXT_BYTES_MAX

    try:
        with Path(path).open("rb") as file:
            return file.read(TEXT_BYTES_MAX + 1).decode()
    except OSError as error:
        raise ValueError(f"the driver cannot read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError("is not UTF-8") from None


_SCHEMA: Rule[str] = Rule("an Avro schema as JSON, or the path of a file with one", _schema)
_FRAMING: Rule[Framing] = rules.one_of("plain", "single-object", "confluent")

SECTION: Final = Section(__name__, "Avro")

KEY_SCHEMA = SECTION.optional("key.avro.schema", _SCHEMA)
"""The Avro schema of the keys, as JSON or as the path of a file that the driver can read."""
VALUE_SCHEMA = SECTION.optional("value.avro.schema", _SCHEMA)
"""The Avro schema of the values, as JSON or as the path of a file that the driver can read. Without
`.schema(...)`, the column `value` gets its type. With schema.registry.url, records of other schemas
are resolved against it.
"""
KEY_FRAMING: Final[Option[Framing]] = SECTION.option("key.avro.framing", _FRAMING, "plain")
"""Prefix of each encoded key, as in value.avro.framing."""
VALUE_FRAMING: Final[Option[Framing]] = SECTION.option("value.avro.framing", _FRAMING, "plain")
"""Prefix of each encoded value. plain: nothing. single-object: the bytes C3 01 and the
fingerprint of the schema, which must be that of value.avro.schema. confluent: a zero byte and the
four bytes of a schema's id, which are skipped; the default with schema.registry.url, which gives
each record's schema.
"""

_ROWS: Final = {
    "key": (KEY_SCHEMA, KEY_FRAMING, KEY_SUBJECT),
    "value": (VALUE_SCHEMA, VALUE_FRAMING, VALUE_SUBJECT),
}


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """Of one column."""

    column: str
    schema: RegisteredSchema | None
    """None: from the registry."""
    framing: Framing
    registry: RegistryAccess | None = None
    subject: str | None = None

    @property
    def type(self) -> Type:
        """Of the column without `.schema(...)`."""
        from pyspark_zkgroup.formats.avro.schema import SchemaError
        from pyspark_zkgroup.formats.avro.types import spark_type
        from pyspark_zkgroup.formats.avro.writers import parsed

        assert self.schema is not None
        try:
            return spark_type(parsed(self.schema), self.column)
        except SchemaError as error:
            raise OptionError.of("typeless", source=self._source, reason=error) from None

    def subject_of(self, topics: Collection[str]) -> str:
        return subject_of(self.column, self.subject, topics)

    def format(self, column: Column) -> AvroFormat:
        """OptionError unless the schema can become this column."""
        from pyspark_zkgroup.formats.avro.format import AvroFormat
        from pyspark_zkgroup.formats.avro.resolve import steps
        from pyspark_zkgroup.formats.avro.schema import SchemaError
        from pyspark_zkgroup.formats.avro.writers import parsed

        if self.schema is not None:
            try:
                schema = parsed(self.schema)
                steps(schema, schema, column.type, column.name)
            except SchemaError as error:
                raise OptionError.of("other_type", source=self._source, reason=error) from None
        return AvroFormat(self.column, self.schema, self.framing, self.registry)

    @property
    def _source(self) -> str:
        return f"the Avro schema of the column {self.column!r}"


def avro_options(
    given: Given, column: str, form: str, registry: RegistryAccess | None
) -> AvroOptions | None:
    """None where the column has another format."""
    schema, framing, subject = _ROWS[column]
    if form != "avro":
        given.refuse(
            (schema, framing),
            f"'{column}.format' is {form}",
            f"Set {column}.format=avro, or leave it out",
        )
        return None
    text = given.value(schema)
    known = None if text is None else RegisteredSchema(text)
    if registry is None:
        if known is None:
            raise OptionError.of("avro_schema_missing", column=column)
        return AvroOptions(column, known, given.value(framing))
    if framing in given and given.value(framing) != "confluent":
        raise given.clash(framing, f"{URL.name!r} is given", "Leave one of them out")
    return AvroOptions(column, known, "confluent", registry, given.value(subject))
