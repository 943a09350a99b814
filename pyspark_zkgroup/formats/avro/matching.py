"""Which type and field of the columns' schema those of a writer's schema become.

Java's Avro decides so, on which Spark's from_avro is built: aliases rename the writer's types and
fields first, then names are compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from pyspark_zkgroup.formats.avro.fingerprint import canonical
from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Field,
    Fixed,
    Items,
    Named,
    Primitive,
    Record,
    Schema,
    SchemaError,
    Union,
    Values,
    kind_of,
    union_of,
)

PROMOTED: Final = {
    "int": ("long", "float", "double"),
    "long": ("float", "double"),
    "float": ("double",),
    "string": ("bytes",),
    "bytes": ("string",),
}


def renamed(writer: Schema, reader: Schema) -> Schema:
    """The writer's schema with the names that the reader's aliases give it. SchemaError if two of
    its fields get one name.
    """
    aliases = _Aliases()
    aliases.collect(reader)
    if not (aliases.types or aliases.fields) or canonical(writer) == canonical(reader):
        return writer
    # Java renames twice, and so follows an alias of an alias.
    return aliases.apply(aliases.apply(writer, {}), {})


@dataclass(slots=True)
class _Aliases:
    types: dict[str, str] = field(default_factory=dict)
    fields: dict[str, dict[str, str]] = field(default_factory=dict)
    """By the full name of the record, then by the alias."""
    _seen: set[Record] = field(default_factory=set)

    def collect(self, schema: Schema) -> None:
        if isinstance(schema, Named):
            self.types.update(dict.fromkeys(schema.aliases, schema.name))
        match schema:
            case Items(of) | Values(of):
                self.collect(of)
            case Union(branches):
                for one in branches:
                    self.collect(one)
            case Record() if schema not in self._seen:
                self._seen.add(schema)
                self._collect_fields(schema)

    def _collect_fields(self, record: Record) -> None:
        for one in record.fields:
            if one.aliases:
                known = self.fields.setdefault(record.name, {})
                known.update(dict.fromkeys(one.aliases, one.name))
            self.collect(one.schema)

    def apply(self, schema: Schema, made: dict[Record, Record]) -> Schema:
        match schema:
            case Items(of):
                return Items(self.apply(of, made))
            case Values(of):
                return Values(self.apply(of, made))
            case Union(branches):
                return union_of([self.apply(one, made) for one in branches])
            case Fixed() | Enum():
                return replace(schema, name=self.types.get(schema.name, schema.name))
            case Record() if schema not in made:
                name = self.types.get(schema.name, schema.name)
                made[schema] = Record(name)
                made[schema].fields = self._renamed_fields(schema, name, made)
        return made[schema] if isinstance(schema, Record) else schema

    def _renamed_fields(
        self, record: Record, name: str, made: dict[Record, Record]
    ) -> tuple[Field, ...]:
        aliases = self.fields.get(name, {})
        found: dict[str, Field] = {}
        before: dict[str, str] = {}
        for one in record.fields:
            new = aliases.get(one.name, one.name)
            if new in found:
                raise SchemaError(
                    f"the fields {before[new]!r} and {one.name!r} of {record.name} are both "
                    f"{new!r} in the schema of the columns, by its aliases"
                )
            before[new] = one.name
            found[new] = replace(one, name=new, schema=self.apply(one.schema, made))
        return tuple(found.values())


def branch_of(writer: Schema, union: Union) -> int | None:
    """The place of the branch for a writer that is no union: of its full name, else a record that
    it can become, else the first one that it is promoted to.
    """
    return _branch(writer, union, {})


def is_same_union(writer: Union, reader: Union) -> bool:
    """Whether branches belong together by their places: they differ at most in namespaces."""
    return writer is reader or _is_same(writer, reader, {})


def is_same_name(writer: Named, reader: Named) -> bool:
    """Outside of unions, namespaces do not matter."""
    return _last(writer.name) == _last(reader.name)


_Pairs = dict[tuple[Record, Record], bool]
"""Answers of records that are compared; while one is open, it is the hopeful one."""


def _branch(writer: Schema, union: Union, seen: _Pairs) -> int | None:
    found = None
    for at, one in enumerate(union.branches):
        if kind_of(one) != kind_of(writer):
            continue
        if not (isinstance(one, Named) and isinstance(writer, Named)) or one.name == writer.name:
            return at
        if not (isinstance(one, Record) and isinstance(writer, Record)):
            continue
        if (found is None or is_same_name(writer, one)) and _becomes(writer, one, seen):
            found = at
    if found is not None:
        return found
    wider = PROMOTED.get(kind_of(writer), ())
    return next((at for at, one in enumerate(union.branches) if kind_of(one) in wider), None)


def _becomes(writer: Record, reader: Record, seen: _Pairs) -> bool:
    """Whether all fields are found, and each can be read; what is within them is not looked at."""
    if (writer, reader) not in seen:
        seen[writer, reader] = True
        written = {one.name: one.schema for one in writer.fields}
        seen[writer, reader] = _has_fields(writer, reader) and all(
            _can_become(written[one.name], one.schema, seen)
            for one in reader.fields
            if one.name in written
        )
    return seen[writer, reader]


def _has_fields(writer: Record, reader: Record) -> bool:
    written = {one.name for one in writer.fields}
    return all(one.has_default or one.name in written for one in reader.fields)


def _can_become(writer: Schema, reader: Schema, seen: _Pairs) -> bool:
    match writer, reader:
        case Union(), _:
            return True
        case _, Union():
            return _branch(writer, reader, seen) is not None
        case Primitive(kind), Primitive(to):
            return kind == to or to in PROMOTED.get(kind, ())
        case Fixed(), Fixed():
            return is_same_name(writer, reader) and writer.size == reader.size
        case Enum(), Enum():
            return is_same_name(writer, reader)
        case Record(), Record():
            return _has_fields(writer, reader)
    return kind_of(writer) == kind_of(reader)


def _is_same(writer: Schema, reader: Schema, seen: _Pairs) -> bool:
    if kind_of(writer) != kind_of(reader):
        return False
    match writer, reader:
        case (
            (Fixed() as named, (Fixed() as other))
            | (Enum() as named, (Enum() as other))
            | (Record() as named, (Record() as other))
        ) if not is_same_name(named, other):
            return False
        case (Items(of), Items(to)) | (Values(of), Values(to)):
            return _is_same(of, to, seen)
        case Fixed(), Fixed():
            return writer.size == reader.size
        case Enum(), Enum():
            return writer.symbols == reader.symbols
        case Union(branches), Union(others):
            return len(branches) == len(others) and all(
                _is_same(one, other, seen) for one, other in zip(branches, others, strict=True)
            )
        case Record(), Record():
            if (writer, reader) not in seen:
                seen[writer, reader] = True
                seen[writer, reader] = _names(writer) == _names(reader) and all(
                    _is_same(one.schema, other.schema, seen)
                    for one, other in zip(writer.fields, reader.fields, strict=True)
                )
            return seen[writer, reader]
    return True


def _names(record: Record) -> list[str]:
    return [one.name for one in record.fields]


def _last(name: str) -> str:
    return name.rpartition(".")[2]
