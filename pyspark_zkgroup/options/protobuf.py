"""Keys and values of Protobuf: their message, and what stands before each encoded value.

The rooms that read messages are imported where a column is Protobuf: four processes of each query
import this module for its rows.
"""

from __future__ import annotations

import base64
import binascii
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
    from pyspark_zkgroup.formats.protobuf.format import Framing, ProtobufFormat
    from pyspark_zkgroup.formats.protobuf.schema import Message

# The tag of its first file.
_SET_BEGINS = b"\x0a"


def _descriptor(text: str) -> RegisteredSchema:
    """As Base64, also of a file."""
    from pyspark_zkgroup.formats.protobuf.declared import SchemaError
    from pyspark_zkgroup.formats.protobuf.sources import described, messages_of

    rules.not_empty(text)
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(_SET_BEGINS):
        data = _file(text)
    found = described(data)
    try:
        messages_of(found)
    except SchemaError as error:
        raise ValueError(f"cannot be read: {error}") from None
    return found


def _file(path: str) -> bytes:
    from pyspark_zkgroup.formats.protobuf.declared import BYTES_MAX

    try:
        with Path(path).open("rb") as file:
            return file.read(BYTES_MAX + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"the driver cannot read: {reason}") from None


_DESCRIPTOR: Rule[RegisteredSchema] = Rule(
    "the path of a FileDescriptorSet, or its bytes in Base64", _descriptor
)
_MESSAGE: Rule[str] = Rule("the name of a message", rules.not_empty)
_FRAMING: Rule[Framing] = rules.one_of("plain", "confluent")

SECTION: Final = Section(__name__, "Protobuf")

KEY_DESCRIPTOR = SECTION.optional("key.protobuf.descriptor", _DESCRIPTOR)
"""The messages of the keys, as in value.protobuf.descriptor."""
VALUE_DESCRIPTOR = SECTION.optional("value.protobuf.descriptor", _DESCRIPTOR)
"""The messages of the values: a file that the driver can read, made by `protoc --include_imports
--descriptor_set_out=FILE`, or its bytes in Base64. Required without schema.registry.url.
"""
KEY_MESSAGE = SECTION.optional("key.protobuf.message", _MESSAGE)
"""Full name of the message of the keys, as in value.protobuf.message."""
VALUE_MESSAGE = SECTION.optional(
    "value.protobuf.message", _MESSAGE, default_text="the first one of the subject's schema"
)
"""Full name of the message of the values. Required with value.protobuf.descriptor. Without
`.schema(...)`, the column `value` gets its type.
"""
KEY_FRAMING: Final[Option[Framing]] = SECTION.option("key.protobuf.framing", _FRAMING, "plain")
"""Prefix of each encoded key, as in value.protobuf.framing."""
VALUE_FRAMING: Final[Option[Framing]] = SECTION.option("value.protobuf.framing", _FRAMING, "plain")
"""Prefix of each encoded value. plain: nothing. confluent: a zero byte, the four bytes of
a schema's id and the message's place in the schema, which are skipped; the default with
schema.registry.url, which gives each record's schema.
"""

_ROWS: Final = {
    "key": (KEY_DESCRIPTOR, KEY_MESSAGE, KEY_FRAMING, KEY_SUBJECT),
    "value": (VALUE_DESCRIPTOR, VALUE_MESSAGE, VALUE_FRAMING, VALUE_SUBJECT),
}


@dataclass(frozen=True, slots=True)
class ProtobufOptions:
    """Of one column."""

    column: str
    schema: RegisteredSchema | None
    """None: from the registry."""
    message: str | None
    framing: Framing
    registry: RegistryAccess | None = None
    subject: str | None = None

    @property
    def type(self) -> Type:
        """Of the column without `.schema(...)`."""
        from pyspark_zkgroup.formats.protobuf.declared import SchemaError
        from pyspark_zkgroup.formats.protobuf.types import spark_type

        try:
            return spark_type(self._message, self.column)
        except SchemaError as error:
            raise OptionError.of("typeless", source=self._source, reason=error) from None

    def subject_of(self, topics: Collection[str]) -> str:
        return subject_of(self.column, self.subject, topics)

    def format(self, column: Column) -> ProtobufFormat:
        """OptionError unless the message can become this column."""
        from pyspark_zkgroup.formats.protobuf.declared import SchemaError
        from pyspark_zkgroup.formats.protobuf.format import ProtobufFormat
        from pyspark_zkgroup.formats.protobuf.program import steps

        name, program = self.message, None
        if self.schema is not None:
            try:
                message = self._message
                name, program = message.name, tuple(steps(message, column.type, column.name))
            except SchemaError as error:
                raise OptionError.of("other_type", source=self._source, reason=error) from None
        return ProtobufFormat(self.column, name, program, self.framing, self.registry)

    @property
    def _message(self) -> Message:
        from pyspark_zkgroup.formats.protobuf.sources import messages_of

        assert self.schema is not None
        found = messages_of(self.schema)
        return found.at([0]) if self.message is None else found.named(self.message)

    @property
    def _source(self) -> str:
        return f"the Protobuf message of the column {self.column!r}"


def protobuf_options(
    given: Given, column: str, form: str, registry: RegistryAccess | None
) -> ProtobufOptions | None:
    """None where the column has another format."""
    descriptor, message, framing, subject = _ROWS[column]
    if form != "protobuf":
        given.refuse(
            (descriptor, message, framing),
            f"'{column}.format' is {form}",
            f"Set {column}.format=protobuf, or leave it out",
        )
        return None
    known, name = given.value(descriptor), given.value(message)
    if known is not None or registry is None:
        for option, value in ((descriptor, known), (message, name)):
            if value is None:
                raise OptionError.of("protobuf_missing", column=column, option=option.name)
    if registry is None:
        return ProtobufOptions(column, known, name, given.value(framing))
    if framing in given and given.value(framing) != "confluent":
        raise given.clash(framing, f"{URL.name!r} is given", "Leave one of them out")
    return ProtobufOptions(column, known, name, "confluent", registry, given.value(subject))
