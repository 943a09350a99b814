"""Descriptors and messages of Protobuf drawn by chance, encoded by google.protobuf: well-formed,
and damaged.
"""

from __future__ import annotations

import random
from itertools import count
from typing import Any

from google.protobuf import descriptor_pb2, duration_pb2, timestamp_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

Chance = random.Random
DEPTH_MAX = 3
ROOT = "drawn.Root"
_F = descriptor_pb2.FieldDescriptorProto
_KEYS = (
    _F.TYPE_STRING,
    _F.TYPE_INT32,
    _F.TYPE_SINT64,
    _F.TYPE_FIXED32,
    _F.TYPE_UINT64,
    _F.TYPE_BOOL,
)
_SCALARS = (*range(1, 10), 12, 13, 15, 16, 17, 18)
_TIMES = (".google.protobuf.Timestamp", ".google.protobuf.Duration")
_TEXTS = ("", "a", "\u00e9\u20ac\U0001f600", "x" * 200, "\x00")
_DOUBLES = (0.0, -0.0, 1.5, float("nan"), float("inf"), float("-inf"), 1e300, 5e-324)
_FLOATS = (0.0, -0.0, 1.5, float("nan"), float("inf"), -2.25)
_DEFAULTS = {
    _F.TYPE_INT32: "-5",
    _F.TYPE_UINT64: "18446744073709551615",
    _F.TYPE_FLOAT: "-inf",
    _F.TYPE_DOUBLE: "1.5e10",
    _F.TYPE_BOOL: "true",
    _F.TYPE_STRING: "\u00e9'\\n",
    _F.TYPE_BYTES: "a\\000\\377\\n",
}


def descriptor(chance: Chance) -> bytes:
    """A FileDescriptorSet with the message ROOT."""
    made = descriptor_pb2.FileDescriptorSet()
    for known in (timestamp_pb2, duration_pb2):
        known.DESCRIPTOR.CopyToProto(made.file.add())
    file = made.file.add(name="drawn.proto", package="drawn")
    file.syntax = chance.choice(["proto2", "proto3", "proto3"])
    file.dependency.extend(one.name for one in made.file[:2])
    names = count()
    _enum(file.enum_type.add(), "Shared", 0)
    _enum(file.enum_type.add(), "Odd", 0 if file.syntax == "proto3" else chance.choice([3, -1]))
    _message(file.message_type.add(), "Root", ".drawn", file.syntax, chance, DEPTH_MAX, names)
    return bytes(made.SerializeToString())


def _enum(made: Any, name: str, first: int) -> None:
    made.name = name
    for at, number in enumerate(dict.fromkeys([first, 1, 2, -7, 2**31 - 1])):
        made.value.add(name=f"{name.upper()}_{at}", number=number)
    made.value.add(name=f"{name.upper()}_ALIAS", number=1)
    made.options.allow_alias = True


def _message(
    made: Any, name: str, scope: str, syntax: str, chance: Chance, depth: int, names: Any
) -> None:
    made.name = name
    inner = f"{scope}.{name}"
    numbers = chance.sample(range(1, 40), 8) + chance.sample(range(1000, 2**28), 2)
    for at in range(chance.randint(1, 7)):
        field = made.field.add(name=f"f{at}", number=numbers[at])
        roll = chance.random()
        if depth and roll < 0.1:
            _map(made, field, inner, syntax, chance, depth, names)
            continue
        field.label = _F.LABEL_REPEATED if chance.random() < 0.25 else _F.LABEL_OPTIONAL
        _type(made, field, inner, syntax, chance, depth, names)
        if field.label == _F.LABEL_REPEATED:
            continue
        if syntax == "proto2" and field.type != _F.TYPE_GROUP:
            if chance.random() < 0.08:
                field.label = _F.LABEL_REQUIRED
            elif chance.random() < 0.3 and field.type in _DEFAULTS:
                field.default_value = _DEFAULTS[field.type]
        elif syntax == "proto3" and chance.random() < 0.2:
            field.proto3_optional = True
    _oneofs(made, syntax, chance)


def _oneofs(made: Any, syntax: str, chance: Chance) -> None:
    alone = [one for one in made.field if one.proto3_optional]
    fit = [
        one
        for one in made.field
        if one.label == _F.LABEL_OPTIONAL and not one.proto3_optional and not one.default_value
    ]
    if len(fit) > 1 and chance.random() < 0.5:
        made.oneof_decl.add(name="choice")
        # protoc wants them next to each other, a descriptor does not.
        for one in chance.sample(fit, chance.randint(2, len(fit))):
            one.oneof_index = 0
    for one in alone:
        one.oneof_index = len(made.oneof_decl)
        made.oneof_decl.add(name=f"_{one.name}")


def _map(
    made: Any, field: Any, scope: str, syntax: str, chance: Chance, depth: int, names: Any
) -> None:
    entry = made.nested_type.add(name=f"F{field.name[1:]}Entry")
    entry.options.map_entry = True
    entry.field.add(name="key", number=1, label=1, type=chance.choice(_KEYS))
    value = entry.field.add(name="value", number=2, label=1)
    _type(made, value, scope, syntax, chance, depth - 1, names, in_map=True)
    field.label, field.type = _F.LABEL_REPEATED, _F.TYPE_MESSAGE
    field.type_name = f"{scope}.{entry.name}"


def _type(
    made: Any,
    field: Any,
    scope: str,
    syntax: str,
    chance: Chance,
    depth: int,
    names: Any,
    *,
    in_map: bool = False,
) -> None:
    roll = chance.random()
    if depth > 0 and roll < 0.2:
        name = f"M{next(names)}"
        is_group = not in_map and syntax == "proto2" and chance.random() < 0.4
        field.type = _F.TYPE_GROUP if is_group else _F.TYPE_MESSAGE
        if is_group:
            field.name = name.lower()
        field.type_name = f"{scope}.{name}"
        _message(made.nested_type.add(), name, scope, syntax, chance, depth - 1, names)
    elif roll < 0.28:
        field.type, field.type_name = _F.TYPE_MESSAGE, chance.choice(_TIMES)
    elif roll < 0.36:
        # The first value of an enum within a map is 0.
        name = chance.choice(["Shared", "Odd"]) if not in_map else "Shared"
        field.type, field.type_name = _F.TYPE_ENUM, f".drawn.{name}"
    else:
        field.type = chance.choice(_SCALARS)


def message(chance: Chance, kind: Any) -> Message:
    made = kind()
    fill(chance, made)
    return made


def fill(chance: Chance, made: Message) -> None:
    kind = made.DESCRIPTOR
    if kind.full_name in ("google.protobuf.Timestamp", "google.protobuf.Duration"):
        made.seconds = chance.choice([0, 1, -1, 1_700_000_000, chance.randrange(-(10**11), 10**11)])
        made.nanos = chance.choice([0, 1, -1, 999, -1001, 999_999_999])
        return
    for field in kind.fields:
        if not field.is_required and chance.random() < 0.3:
            continue
        if not field.is_repeated:
            _set(chance, made, field)
            continue
        found = getattr(made, field.name)
        is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
        for _ in range(chance.randrange(4)):
            if is_map:
                key = _scalar(chance, field.message_type.fields_by_name["key"])
                value = field.message_type.fields_by_name["value"]
                if value.message_type is None:
                    found[key] = _scalar(chance, value)
                else:
                    fill(chance, found[key])
            elif field.message_type is None:
                found.append(_scalar(chance, field))
            else:
                fill(chance, found.add())


def _set(chance: Chance, made: Message, field: FieldDescriptor) -> None:
    if field.message_type is None:
        setattr(made, field.name, _scalar(chance, field))
    else:
        getattr(made, field.name).SetInParent()
        fill(chance, getattr(made, field.name))


def _scalar(chance: Chance, field: FieldDescriptor) -> Any:
    odd = chance.random() < 0.4
    match field.cpp_type:
        case FieldDescriptor.CPPTYPE_BOOL:
            return chance.random() < 0.5
        case FieldDescriptor.CPPTYPE_DOUBLE:
            return chance.choice(_DOUBLES) if odd else chance.uniform(-1e9, 1e9)
        case FieldDescriptor.CPPTYPE_FLOAT:
            return chance.choice(_FLOATS)
        case FieldDescriptor.CPPTYPE_ENUM:
            known = [one.number for one in field.enum_type.values]
            return chance.choice(known if field.enum_type.is_closed or odd else [*known, 77, -3])
        case FieldDescriptor.CPPTYPE_STRING if field.type == FieldDescriptor.TYPE_BYTES:
            return chance.randbytes(chance.randrange(9))
        case FieldDescriptor.CPPTYPE_STRING:
            return chance.choice(_TEXTS)
    bits = 32 if "INT32" in _NAMES[field.cpp_type] else 64
    low = 0 if _NAMES[field.cpp_type].startswith("U") else -(2 ** (bits - 1))
    edges = [0, 1, 127, 128, low, low + 2**bits - 1]
    return chance.choice(edges) if odd else chance.randrange(low, low + 2**bits)


_NAMES = {
    FieldDescriptor.CPPTYPE_INT32: "INT32",
    FieldDescriptor.CPPTYPE_INT64: "INT64",
    FieldDescriptor.CPPTYPE_UINT32: "UINT32",
    FieldDescriptor.CPPTYPE_UINT64: "UINT64",
}


def value(chance: Chance, kind: Any, broken: float) -> bytes:
    """About `broken` of them are damaged. Some of the others are two messages, one after the other:
    fields occur twice.
    """
    data = bytes(message(chance, kind).SerializePartialToString())
    if chance.random() < 0.2:
        data += message(chance, kind).SerializePartialToString()
    if chance.random() >= broken:
        return data
    changed = bytearray(data)
    for _ in range(chance.choice([1, 1, 2, 4])):
        at = chance.randrange(len(changed) + 1)
        match chance.randrange(4):
            case 0:
                changed[at:at] = chance.randbytes(chance.choice([1, 1, 3]))
            case 1:
                del changed[at : at + chance.choice([1, 1, 3])]
            case 2:
                changed[at : at + 1] = bytes([chance.randrange(256)])
            case _:
                del changed[at:]
    return bytes(changed)
