"""Avro schemas as plain values, read from their JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

PRIMITIVES: Final = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
TEXT_BYTES_MAX: Final = 4 * 1024 * 1024
DEPTH_MAX: Final = 100

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_LOGICAL: Final = {
    "date": ("int",),
    "time-millis": ("int",),
    "time-micros": ("long",),
    "timestamp-nanos": ("long",),
    "local-timestamp-nanos": ("long",),
    "timestamp-millis": ("long",),
    "timestamp-micros": ("long",),
    "local-timestamp-millis": ("long",),
    "local-timestamp-micros": ("long",),
    "decimal": ("bytes", "fixed"),
}
"""Those that change what a value becomes or name its unit, and what they may be of. Others are
ignored, as Avro says.
"""


class SchemaError(ValueError):
    """A text is no Avro schema; says why."""


@dataclass(frozen=True, slots=True)
class Logical:
    name: str
    precision: int = 0
    scale: int = 0


@dataclass(frozen=True, slots=True)
class Primitive:
    kind: str
    logical: Logical | None = None


@dataclass(frozen=True, slots=True)
class Fixed:
    name: str
    size: int
    logical: Logical | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enum:
    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Items:
    of: Schema


@dataclass(frozen=True, slots=True)
class Values:
    """A map; its keys are text."""

    of: Schema


@dataclass(frozen=True, slots=True)
class Union:
    branches: tuple[Schema, ...]


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    schema: Schema
    has_default: bool = False
    default: Any = None
    """As JSON has it."""
    aliases: tuple[str, ...] = ()


@dataclass(eq=False, slots=True)
class Record:
    """One object for each, since it may contain itself."""

    name: str
    aliases: tuple[str, ...] = ()
    fields: tuple[Field, ...] = field(default=(), repr=False)


Schema = Primitive | Fixed | Enum | Items | Values | Union | Record
Named = Fixed | Enum | Record


def parse(text: str, names: dict[str, Named] | None = None) -> Schema:
    """SchemaError if it is none. `names` holds the types that it may refer to, and receives its
    own.
    """
    if len(text) > TEXT_BYTES_MAX:
        raise SchemaError(f"it has more than {TEXT_BYTES_MAX} characters")
    try:
        found = json.loads(text)
    except RecursionError:
        raise SchemaError("it is nested too deeply") from None
    except ValueError as error:
        raise SchemaError(f"it is not JSON: {error}") from None
    return _Reader({} if names is None else names).schema(found, "", 0)


class _Reader:
    def __init__(self, names: dict[str, Named]) -> None:
        self._names = names

    def schema(self, found: Any, space: str, depth: int) -> Schema:
        if depth > DEPTH_MAX:
            raise SchemaError(f"it is nested more than {DEPTH_MAX} deep")
        match found:
            case str():
                return self._by_name(found, space)
            case list():
                return union_of([self.schema(one, space, depth + 1) for one in found])
            case {"type": dict() | list() as inner}:
                return self.schema(inner, space, depth + 1)
            case {"type": str(kind)}:
                return self._typed(found, kind, space, depth)
        raise SchemaError(f"{_shown(found)} is no type")

    def _by_name(self, name: str, space: str) -> Schema:
        if name in PRIMITIVES:
            return Primitive(name)
        for full in dict.fromkeys((_full(name, space), name)):
            if full in self._names:
                return self._names[full]
        raise SchemaError(f"the type {_shown(name)} is not defined")

    def _typed(self, found: dict[str, Any], kind: str, space: str, depth: int) -> Schema:
        match kind:
            case "array":
                return Items(self.schema(found.get("items"), space, depth + 1))
            case "map":
                return Values(self.schema(found.get("values"), space, depth + 1))
            case "record" | "error":
                return self._record(found, space, depth)
            case "enum":
                return self._enum(found, space)
            case "fixed":
                return self._fixed(found, space)
        if kind in PRIMITIVES:
            _check_no_interval(found)
            return Primitive(kind, _logical(found, kind))
        return self._by_name(kind, space)

    def _record(self, found: dict[str, Any], space: str, depth: int) -> Record:
        name = _name(found, space)
        made = Record(name, _aliases(found, name))
        self._define(made)
        inner = name.rpartition(".")[0]
        fields: dict[str, Field] = {}
        for one in _list(found, "fields", name):
            if not isinstance(one, dict) or not isinstance(one.get("name"), str):
                raise SchemaError(f"a field of {name} has no name")
            if one["name"] in fields:
                raise SchemaError(f"{name} has two fields {_shown(one['name'])}")
            if "type" not in one:
                raise SchemaError(f"the field {one['name']} of {name} has no type")
            fields[one["name"]] = Field(
                one["name"],
                self.schema(one["type"], inner, depth + 1),
                "default" in one,
                one.get("default"),
                _alias_names(one, one["name"]),
            )
        made.fields = tuple(fields.values())
        return made

    def _enum(self, found: dict[str, Any], space: str) -> Enum:
        name = _name(found, space)
        symbols = _list(found, "symbols", name)
        if not all(isinstance(one, str) and one for one in symbols) or not symbols:
            raise SchemaError(f"{name} has no symbols")
        if len(set(symbols)) < len(symbols):
            raise SchemaError(f"{name} has one symbol twice")
        default = found.get("default")
        if default is not None and default not in symbols:
            raise SchemaError(f"the default of {name} is none of its symbols")
        made = Enum(name, tuple(symbols), default, _aliases(found, name))
        self._define(made)
        return made

    def _fixed(self, found: dict[str, Any], space: str) -> Fixed:
        name = _name(found, space)
        size = found.get("size")
        if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size < 2**31:
            raise SchemaError(f"{name} has no size")
        made = Fixed(name, size, _logical(found, "fixed"), _aliases(found, name))
        self._define(made)
        return made

    def _define(self, made: Named) -> None:
        if made.name in self._names:
            raise SchemaError(f"{made.name} is defined twice")
        self._names[made.name] = made


def union_of(branches: Sequence[Schema]) -> Union:
    """SchemaError if they are no union."""
    seen = set()
    for one in branches:
        if isinstance(one, Union):
            raise SchemaError("a union contains a union")
        key = one.name if isinstance(one, Named) else kind_of(one)
        if key in seen:
            raise SchemaError(f"a union has two branches {_shown(key)}")
        seen.add(key)
    if not branches:
        raise SchemaError("a union has no branches")
    return Union(tuple(branches))


def kind_of(schema: Schema) -> str:
    """As Avro names it."""
    return schema.kind if isinstance(schema, Primitive) else type(schema).__name__.lower()


def is_null(schema: Schema) -> bool:
    return isinstance(schema, Primitive) and schema.kind == "null"


def _logical(found: dict[str, Any], kind: str) -> Logical | None:
    name = found.get("logicalType")
    if not isinstance(name, str) or kind not in _LOGICAL.get(name, ()):
        return None
    if name != "decimal":
        return Logical(name)
    precision, scale = found.get("precision"), found.get("scale", 0)
    if type(precision) is not int or type(scale) is not int:
        return None
    if precision <= 0 or not 0 <= scale <= precision or _is_short(found, kind, precision):
        return None
    return Logical(name, precision, scale)


def _is_short(found: dict[str, Any], kind: str, precision: int) -> bool:
    """Whether a fixed has not enough bytes for its digits: then it is no decimal."""
    size = found.get("size")
    if kind != "fixed" or not isinstance(size, int) or size > 1000:
        return False
    # A schema may claim a billion digits: no power is computed of more than there are bits.
    return precision >= 8 * size or bool(10**precision > 2 ** (8 * size - 1))


def _check_no_interval(found: dict[str, Any]) -> None:
    kind = found.get("spark.sql.catalyst.type")
    if isinstance(kind, str) and kind.lower().startswith("interval"):
        raise SchemaError(f"it has the type {kind.upper()} of Spark, which is not supported")


def _name(found: dict[str, Any], space: str) -> str:
    name = found.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise SchemaError(f"{_shown(name)} is no name of a type")
    given = found.get("namespace", space)
    return _full(name, given if isinstance(given, str) else space)


def _full(name: str, space: str) -> str:
    return name if "." in name or not space else f"{space}.{name}"


def _aliases(found: dict[str, Any], name: str) -> tuple[str, ...]:
    space = name.rpartition(".")[0]
    return tuple(_full(one, space) for one in _alias_names(found, name))


def _alias_names(found: dict[str, Any], of: str) -> tuple[str, ...]:
    given = found.get("aliases") or []
    if not isinstance(given, list):
        raise SchemaError(f"the aliases of {of} are {_shown(given)}, not a list")
    return tuple(one for one in given if isinstance(one, str))


def _list(found: dict[str, Any], name: str, of: str) -> list[Any]:
    made = found.get(name)
    if not isinstance(made, list):
        raise SchemaError(f"{of} has no {name}")
    return made


def _shown(found: object) -> str:
    text = repr(found)
    return text if len(text) <= 60 else text[:57] + "..."
