"""How messages become a column: the steps for the native reader."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from pyspark_zkgroup.formats.protobuf.declared import SchemaError, number, unescaped
from pyspark_zkgroup.formats.protobuf.schema import Enum, Field, Message
from pyspark_zkgroup.formats.protobuf.types import SCALARS, entry_of, time_of
from pyspark_zkgroup.formats.words import weight
from pyspark_zkgroup.schema import INTERVAL, Array, Column, Decimal, Map, Struct, Type

Step = tuple[str, list[int], list[str]]

_REPEATED, _REQUIRED, _IMPLICIT, _GROUP, _DEFAULT = 1, 2, 4, 8, 16
_NUMBERS: Final = {
    "int32": ("int32", 4),
    "int64": ("int64", 8),
    "uint32": ("uint32", 4),
    "uint64": ("uint64", 8),
    "sint32": ("sint32", 4),
    "sint64": ("sint64", 8),
    "fixed32": ("fixed32", 4),
    "fixed64": ("fixed64", 8),
    "sfixed32": ("fixed32", 4),
    "sfixed64": ("fixed64", 8),
    "float": ("fixed32", 4),
    "double": ("fixed64", 8),
}
_UNSIGNED: Final = {
    ("uint32", "bigint"): ("uint32", 8),
    ("fixed32", "bigint"): ("fixed32", 8),
    ("uint64", Decimal(20, 0)): ("uint64", 16),
    ("fixed64", Decimal(20, 0)): ("fixed64", 16),
}
_TIME: Final = Struct((Column("seconds", "bigint"), Column("nanos", "int")))


def steps(message: Message, wanted: Type, path: str, *, may_miss: bool = False) -> list[Step]:
    """SchemaError if no message can become that type. With `may_miss`, fields that it does not have
    are null.
    """
    if not isinstance(wanted, Struct):
        raise _mismatch(message, wanted, path)
    program = _Program(may_miss)
    program.message(message, wanted, path)
    return program.steps


class _Program:
    def __init__(self, may_miss: bool) -> None:
        self._may_miss = may_miss
        self._scalars: dict[object, int] = {}
        self.steps: list[Step] = []
        """The last one is the root."""

    def message(self, message: Message, wanted: Struct, path: str, name: str = "message") -> int:
        left = {one.name: place for place, one in enumerate(wanted.fields)}
        oneofs = {one.oneof for one in message.fields if one.name in left and one.oneof is not None}
        shown = {oneof: at for at, oneof in enumerate(sorted(oneofs))}
        numbers: list[int] = []
        texts: list[str] = []
        count = 0
        for one in sorted(message.fields, key=lambda one: one.number):
            place = left.pop(one.name, None)
            if place is None and one.oneof not in oneofs:
                continue
            inner = f"{path}.{one.name}"
            if place is None:
                node = self._unwanted(one)
            else:
                node = self._field(one, wanted.fields[place].type, inner)
            default = _default(one, is_entry=message.is_map_entry, path=inner)
            flags = _flags(one) | (0 if default is None else _DEFAULT)
            oneof = -1 if one.oneof is None else shown[one.oneof]
            numbers += (one.number, node, -1 if place is None else place, flags, oneof)
            texts += (one.name, default or "")
            count += 1
        if left and not self._may_miss:
            names = ", ".join(one.name for one in message.fields[:20])
            raise SchemaError(
                f"{path}.{next(iter(left))} is not in {message.name}, which has {names}"
            )
        numbers = [weight(wanted), count, *numbers, *left.values()]
        self.steps.append((name, numbers, texts))
        return len(self.steps) - 1

    def _field(self, field: Field, wanted: Type, path: str) -> int:
        kind = field.type
        is_map = isinstance(kind, Message) and kind.is_map_entry and field.is_repeated
        match wanted:
            case Map(key, value) if is_map and isinstance(kind, Message):
                entry_of(kind)
                pair = Struct((Column("key", key), Column("value", value)))
                return self.message(kind, pair, path)
            case Array(element) if field.is_repeated and not is_map:
                return self._value(field, element, f"{path}.element")
            case _ if not field.is_repeated:
                return self._value(field, wanted, path)
        raise _mismatch(field, wanted, path)

    def _value(self, field: Field, wanted: Type, path: str) -> int:
        kind = field.type
        if isinstance(kind, Message):
            if isinstance(wanted, Struct):
                return self.message(kind, wanted, path)
            if wanted in ("timestamp", INTERVAL) and time_of(kind) == wanted:
                return self.message(kind, _TIME, path, "time")
        elif isinstance(kind, Enum):
            if wanted in ("string", "int"):
                return self._enum(field, kind, is_text=wanted == "string")
        elif (kind, wanted) in _UNSIGNED:
            name, width = _UNSIGNED[kind, wanted]
            return self._scalar(name, width)
        elif SCALARS[kind] == wanted:
            return self._plain(kind, field)
        raise _mismatch(field, wanted, path)

    def _unwanted(self, field: Field) -> int:
        """Of a field that only clears others of its oneof."""
        if isinstance(field.type, Message):
            return self._scalar("skipped")
        if isinstance(field.type, Enum):
            return self._enum(field, field.type, is_text=False)
        return self._plain(field.type, field)

    def _plain(self, kind: str, field: Field) -> int:
        if kind in _NUMBERS:
            return self._scalar(*_NUMBERS[kind])
        if kind == "string":
            return self._scalar("text", int(field.is_utf8))
        return self._scalar(kind)

    def _enum(self, field: Field, kind: Enum, *, is_text: bool) -> int:
        # Of two names of a number, the first one counts.
        values = dict(reversed(kind.values))
        numbers = [int(not field.is_closed), int(is_text), *values]
        key = ("enum", kind, field.is_closed, is_text)
        return self._add(key, "enum", numbers, [kind.name, *values.values()])

    def _scalar(self, name: str, *numbers: int) -> int:
        return self._add((name, *numbers), name, numbers, ())

    def _add(self, key: object, name: str, numbers: Sequence[int], texts: Sequence[str]) -> int:
        if key not in self._scalars:
            self._scalars[key] = len(self.steps)
            self.steps.append((name, list(numbers), list(texts)))
        return self._scalars[key]


def _flags(field: Field) -> int:
    return (
        (_REPEATED if field.is_repeated else 0)
        | (_REQUIRED if field.is_required else 0)
        | (_IMPLICIT if field.is_implicit else 0)
        | (_GROUP if field.is_group else 0)
    )


def _default(field: Field, *, is_entry: bool, path: str) -> str | None:
    """What a missing field has. In an entry of a map that is zero, where there is no other."""
    kind = field.type
    if field.default is None or field.is_repeated:
        if not is_entry:
            return None
        return str(kind.values[0][0] & 2**32 - 1) if isinstance(kind, Enum) else _zero(kind)
    try:
        return _encoded(kind, field.default)
    except (ValueError, KeyError, OverflowError, struct.error):
        raise SchemaError(f"{path} has the default {field.default!r}, which is wrong") from None


def _zero(kind: str | Message) -> str:
    return "" if isinstance(kind, Message) or kind in ("string", "bytes") else "0"


def _encoded(kind: str | Enum | Message, text: str) -> str:
    """A number, or bytes as digits."""
    match kind:
        case Enum():
            return str({name: number for number, name in kind.values}[text] & 2**32 - 1)
        case "string":
            return text.encode().hex()
        case "bytes":
            return unescaped(text).hex()
        case "bool":
            return str(int({"true": True, "false": False}[text]))
        case "float":
            return str(int.from_bytes(struct.pack("<f", float(text)), "little"))
        case "double":
            return str(int.from_bytes(struct.pack("<d", float(text)), "little"))
        case str():
            return str(number(text) & 2 ** (32 if "32" in kind else 64) - 1)
    raise ValueError(text)


def _mismatch(found: Field | Message, wanted: Type, path: str) -> SchemaError:
    return SchemaError(f"{path} is {_shown(found)}, which cannot be read as {str(wanted).upper()}")


def _shown(found: Field | Message) -> str:
    if isinstance(found, Message):
        return f"a {found.name}"
    if isinstance(found.type, Message) and found.type.is_map_entry:
        return "a map"
    kind = found.type if isinstance(found.type, str) else found.type.name
    article = "an" if kind[0].lower() in "aeio" else "a"
    return f"repeated {kind}" if found.is_repeated else f"{article} {kind}"
