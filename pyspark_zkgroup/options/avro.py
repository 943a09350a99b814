"""Keys and values of Avro: their schema, and what stands before each encoded value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.avro.format import AvroFormat, Framing
from pyspark_zkgroup.formats.avro.resolve import steps
from pyspark_zkgroup.formats.avro.schema import TEXT_BYTES_MAX, SchemaError, parse
from pyspark_zkgroup.formats.avro.types import spark_type
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.schema import Column, Type

_JSON_BEGINS = ("{", "[", '"')


def _schema(text: str) -> str:
    """As text, also of a file."""
    rules.not_empty(text)
    if not text.startswith(_JSON_BEGINS):
        text = _file(text)
    try:
        parse(text)
    except SchemaError as error:
        raise ValueError(f"is no Avro schema: {error}") from None
    return text


def _file(path: str) -> str:
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
`.schema(...)`, the column `value` gets its type.
"""
KEY_FRAMING: Final[Option[Framing]] = SECTION.option("key.avro.framing", _FRAMING, "plain")
"""What stands before each encoded key; as in value.avro.framing."""
VALUE_FRAMING: Final[Option[Framing]] = SECTION.option("value.avro.framing", _FRAMING, "plain")
"""What stands before each encoded value. plain: nothing. single-object: the bytes C3 01 and the
fingerprint of the schema, which must be that of value.avro.schema. confluent: a zero byte and the
four bytes of a schema's id, which are skipped.
"""

_ROWS: Final = {"key": (KEY_SCHEMA, KEY_FRAMING), "value": (VALUE_SCHEMA, VALUE_FRAMING)}


@dataclass(frozen=True, slots=True)
class AvroOptions:
    """Of one column."""

    column: str
    schema: str
    framing: Framing

    @property
    def type(self) -> Type:
        """Of the column without `.schema(...)`."""
        try:
            return spark_type(parse(self.schema), self.column)
        except SchemaError as error:
            raise OptionError.of("avro_without_type", column=self.column, reason=error) from None

    def format(self, column: Column) -> AvroFormat:
        """OptionError unless the schema can become this column."""
        schema = parse(self.schema)
        try:
            steps(schema, schema, column.type, column.name)
        except SchemaError as error:
            raise OptionError.of("avro_type", column=self.column, reason=error) from None
        return AvroFormat(self.column, self.schema, self.framing)


def avro_options(given: Given, column: str, form: str) -> AvroOptions | None:
    """None where the column has another format."""
    schema, framing = _ROWS[column]
    if form != "avro":
        given.refuse(
            (schema, framing),
            f"'{column}.format' is {form}",
            f"Set {column}.format=avro, or leave it out",
        )
        return None
    text = given.value(schema)
    if text is None:
        raise OptionError.of("avro_schema_missing", column=column)
    return AvroOptions(column, text, given.value(framing))
