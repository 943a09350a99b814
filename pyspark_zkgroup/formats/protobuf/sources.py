"""Messages from where they are described: a FileDescriptorSet, or the text of a registry."""

from __future__ import annotations

import base64
from functools import lru_cache
from typing import Final

from pyspark_zkgroup.formats.protobuf import descriptor, text
from pyspark_zkgroup.formats.protobuf.declared import FileDeclared, SchemaError
from pyspark_zkgroup.formats.protobuf.schema import Messages, linked
from pyspark_zkgroup.registry.access import RegisteredSchema

DESCRIPTOR: Final = "FileDescriptorSet"
KIND: Final = "PROTOBUF"

# Files that any other may import, and that registries therefore do not keep.
_KNOWN: Final = """
syntax = "proto3";
package google.protobuf;
message Timestamp { int64 seconds = 1; int32 nanos = 2; }
message Duration { int64 seconds = 1; int32 nanos = 2; }
message Any { string type_url = 1; bytes value = 2; }
message Empty {}
message FieldMask { repeated string paths = 1; }
message DoubleValue { double value = 1; }
message FloatValue { float value = 1; }
message Int64Value { int64 value = 1; }
message UInt64Value { uint64 value = 1; }
message Int32Value { int32 value = 1; }
message UInt32Value { uint32 value = 1; }
message BoolValue { bool value = 1; }
message StringValue { string value = 1; }
message BytesValue { bytes value = 1; }
enum NullValue { NULL_VALUE = 0; }
message Struct { map<string, Value> fields = 1; }
message ListValue { repeated Value values = 1; }
message Value {
  oneof kind {
    NullValue null_value = 1;
    double number_value = 2;
    string string_value = 3;
    bool bool_value = 4;
    Struct struct_value = 5;
    ListValue list_value = 6;
  }
}
"""
_KNOWN_OF_CONFLUENT: Final = """
syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
"""


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
    declared = {f"{file.package}.{one.name}" for file in files for one in file.messages}
    return linked((*_known(declared), *files))


def _known(declared: set[str]) -> tuple[FileDeclared, ...]:
    """Those that the files do not bring themselves."""
    known = (text.file(_KNOWN), text.file(_KNOWN_OF_CONFLUENT))
    return tuple(
        file
        for file in known
        if not any(f"{file.package}.{one.name}" in declared for one in file.messages)
    )
