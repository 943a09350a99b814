"""Rows of messages as google.protobuf reads them and Spark's from_protobuf shows them, in the form
of plain_rows.py: what the native reader is compared with.
"""

from __future__ import annotations

import re
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message

from pyspark_zkgroup.records.java_text import java_text

_INT32 = (FieldDescriptor.TYPE_UINT32, FieldDescriptor.TYPE_FIXED32)
_INT64 = (FieldDescriptor.TYPE_UINT64, FieldDescriptor.TYPE_FIXED64)


def message_class(descriptor: bytes, name: str) -> Any:
    found = descriptor_pb2.FileDescriptorSet.FromString(descriptor)
    pool = descriptor_pool.DescriptorPool()
    for file in found.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))


def row(kind: Any, data: bytes) -> dict[str, Any] | None:
    """None if it is bad."""
    made = kind()
    try:
        made.ParseFromString(data)
    except DecodeError:
        return None
    if not made.IsInitialized():
        return None
    try:
        return _struct(made)
    except UnicodeDecodeError:  # within a map
        return None


def _struct(message: Message) -> dict[str, Any]:
    return {
        one.name: _field(message, one)
        for one in message.DESCRIPTOR.fields
        if not _is_empty(one.message_type)
    }


def _is_empty(kind: Descriptor | None) -> bool:
    return kind is not None and all(_is_empty(one.message_type) for one in kind.fields)


def _field(message: Message, field: FieldDescriptor) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name
            pairs = [[_value(entry["key"], k), _value(entry["value"], v)] for k, v in value.items()]
            return sorted(pairs, key=lambda pair: repr(pair[0]))
        return [_value(field, one) for one in value]
    if field.has_presence:
        is_there = message.HasField(field.name) or field.has_default_value
    else:
        # -0.0 is not zero there.
        is_there = bool(value) or repr(value) == "-0.0"
    return _value(field, value) if is_there else None


def _value(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        name = f"UNKNOWN_ENUM_VALUE_{field.enum_type.name}_{value}" if known is None else known.name
        return name.encode()
    if field.message_type is not None:
        if field.message_type.full_name in _TIMES:
            return value.seconds * 1_000_000 + int(value.nanos / 1000)
        return _struct(value)
    if field.type in _INT32 and value >= 2**31:
        return value - 2**32
    if field.type in _INT64 and value >= 2**63:
        return value - 2**64
    if isinstance(value, float):
        return repr(value)
    if field.type == FieldDescriptor.TYPE_STRING and isinstance(value, bytes):
        value = java_text(value)
    return value.encode() if isinstance(value, str) else value


def disagreement(kind: Any, value: bytes, our: Any, reason: str | None) -> str | None:
    """One of them may refuse bytes: the native reader those that Spark does, google.protobuf tags
    of more than 32 bits, of which Java drops some. Java does not look at a tenth byte of a number.
    """
    if _TEN_BYTES.search(value):
        return None
    theirs = row(kind, value)
    if theirs is None:
        return None
    if reason is not None:
        what = reason.rpartition(": ")[2]
        # The number 0: google.protobuf does not look at fields within unknown groups.
        is_known = what.startswith(_REFUSED)
        is_known = is_known or reason.endswith(("are too many", "Shared", "Odd"))
        return None if is_known else f"google.protobuf reads {theirs}"
    return None if _has(our, theirs) else f"google.protobuf reads {theirs}"


def _has(ours: Any, theirs: Any) -> bool:
    """Java keeps all entries of a map that have one key, and those with unknown fields, which
    google.protobuf leaves out.
    """
    match ours, theirs:
        case dict(), dict():
            return all(_has(ours[name], one) for name, one in theirs.items())
        case [[_, _], *_], list():
            return all(
                any(repr(key) == repr(k) and _has(value, v) for key, value in ours)
                for k, v in theirs
            )
        case list(), list():
            return len(ours) == len(theirs) and all(map(_has, ours, theirs))
        case _:
            return bool(ours == theirs)


_TIMES = ("google.protobuf.Timestamp", "google.protobuf.Duration")
_REFUSED = (
    "it is written as",
    "it is not UTF-8",
    "it is required",
    "a field in it has the number 0",
)
_TEN_BYTES = re.compile(rb"[\x80-\xff]{9}[\x00\x02-\x7f]", re.DOTALL)
