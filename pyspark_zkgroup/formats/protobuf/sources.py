"""Messages from where they are described: a FileDescriptorSet, or the text of a registry."""

from __future__ import annotations

import base64
from functools import cache, lru_cache
from typing import Final

from pyspark_zkgroup.formats.protobuf import descriptor, known, text
from pyspark_zkgroup.formats.protobuf.declared import FileDeclared, SchemaError
from pyspark_zkgroup.formats.protobuf.schema import Messages, linked
from pyspark_zkgroup.registry.access import RegisteredSchema

DESCRIPTOR: Final = "FileDescriptorSet"
KIND: Final = "PROTOBUF"


def described(data: bytes) -> RegisteredSchema:
    """A FileDescriptorSet as a schema."""
    return RegisteredSchema(base64.b64encode(data).decode(), kind=DESCRIPTOR)


@lru_cache(maxsize=100)
def messages_of(schema: RegisteredSchema) -> Messages:
    """SchemaError if it has none of Protobuf."""
    if schema.kind == DESCRIPTOR:
        return linked(descriptor.files(base64.b64decode(schema.text)))
    if schema.kind != KIND:
        raise SchemaError(f"its schema is {schema.kind}, not {KIND}")
    files = [text.file(one) for one in (*schema.references, schema.text)]
    return linked(files, _known())


@cache
def _known() -> tuple[FileDeclared, ...]:
    return tuple(text.file(one) for one in (known.PROTOBUF, known.TYPE, known.CONFLUENT))
