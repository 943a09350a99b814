"""How values of a writer's schema become a column: the steps for the native reader.

Avro's rules of schema resolution decide. Where columns have no schema of their own, the writer's
counts, and a field that it does not have is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark_zkgroup.formats.avro.defaults import encoded
from pyspark_zkgroup.formats.avro.matching import (
    PROMOTED,
    branch_of,
    is_same_name,
    is_same_union,
    renamed,
)
from pyspark_zkgroup.formats.avro.schema import (
    Enum,
    Field,
    Fixed,
    Items,
    Logical,
    Named,
    Primitive,
    Record,
    Schema,
    SchemaError,
    Union,
    Values,
    is_null,
    kind_of,
)
from pyspark_zkgroup.formats.avro.types import members_of, wider_type
from pyspark_zkgroup.formats.words import weight
from pyspark_zkgroup.schema import Array, Decimal, Map, Struct, Type

Step = tuple[str, list[int], list[str]]

STEPS_MAX: Final = 100_000
"""A small schema may ask for more than memory holds: each of its unions multiplies them."""

_CONVERSIONS = {
    ("boolean", "boolean"): "boolean",
    ("int", "int"): "int",
    ("int", "bigint"): "int as long",
    ("int", "float"): "int as float",
    ("int", "double"): "int as double",
    ("long", "bigint"): "long",
    ("long", "float"): "long as float",
    ("long", "double"): "long as double",
    ("float", "float"): "float",
    ("float", "double"): "float as double",
    ("double", "double"): "double",
    ("bytes", "binary"): "bytes",
    ("bytes", "string"): "bytes",
    ("string", "string"): "bytes",
    ("string", "binary"): "bytes",
}
_LOGICAL = {
    ("date", "date"): "int",
    ("timestamp-micros", "timestamp"): "long",
    ("timestamp-millis", "timestamp"): "milliseconds",
    ("local-timestamp-micros", "timestamp_ntz"): "long",
    ("local-timestamp-millis", "timestamp_ntz"): "milliseconds",
}


def steps(writer: Schema, reader: Schema | None, wanted: Type, path: str) -> list[Step]:
    """SchemaError if no value of the writer can become that type. A reader's schema brings
    defaults, aliases and the order of unions.
    """
    program = _Program(has_reader=reader is not None)
    try:
        written = writer if reader is None else renamed(writer, reader)
        program.read(written, writer if reader is None else reader, wanted, path)
    except RecursionError:
        raise SchemaError(f"{path} is nested too deeply") from None
    return program.steps


class _Program:
    def __init__(self, has_reader: bool) -> None:
        self._has_reader = has_reader
        self._skipped: dict[Record, int] = {}
        self._made = 0
        self.steps: list[Step] = []
        """The last one is the root."""

    def read(self, writer: Schema, reader: Schema, wanted: Type, path: str) -> int:
        if isinstance(writer, Union):
            return self._union(writer, reader, wanted, path)
        if isinstance(reader, Union):
            return self._into_union(writer, reader, branch_of(writer, reader), wanted, path)
        match writer, reader, wanted:
            case Record(), Record(), Struct():
                return self._record(writer, reader, wanted, path)
            case Items(of), Items(reader_of), Array(element):
                return self._add("array", [self.read(of, reader_of, element, f"{path}.element")])
            case Values(of), Values(reader_of), Map("string", value):
                return self._add("map", [self.read(of, reader_of, value, f"{path}.value")])
            case Enum(), Enum(), "string" if is_same_name(writer, reader):
                return self._add("enum", texts=_symbols(writer, reader))
            case Fixed(), Fixed(), _ if is_same_name(writer, reader) and writer.size == reader.size:
                return self._fixed(writer, reader, wanted, path)
            case Primitive(), Primitive(), _:
                return self._primitive(writer, reader, wanted, path)
        raise _mismatch(writer, reader, wanted, path)

    def _union(self, writer: Union, reader: Schema, wanted: Type, path: str) -> int:
        is_same = isinstance(reader, Union) and is_same_union(writer, reader)
        branches = []
        for at, one in enumerate(writer.branches):
            length = len(self.steps)
            try:
                if isinstance(reader, Union) and is_same:
                    place = self._into_union(one, reader, at, wanted, path)
                else:
                    place = self.read(one, reader, wanted, path)
            except SchemaError as error:
                # A value of this branch is bad; the others are read.
                del self.steps[length:]
                self._skipped = {one: at for one, at in self._skipped.items() if at < length}
                place = self._add("bad", texts=[str(error)])
            branches.append(place)
        if all(self.steps[branch][0] == "bad" for branch in branches):
            raise SchemaError(self.steps[branches[-1]][2][0])
        return self._add("union", branches)

    def _into_union(
        self, writer: Schema, reader: Union, branch: int | None, wanted: Type, path: str
    ) -> int:
        if is_null(writer) and branch is not None:
            return self._add("null", [weight(wanted)])
        if is_null(writer):
            raise SchemaError(f"{path} is null, which its schema does not allow")
        if branch is None:
            raise SchemaError(f"{path} is {_shown(writer)}, which is in no branch of its union")
        of_branch, members = reader.branches[branch], members_of(reader)
        if len(members) == 1:
            return self.read(writer, of_branch, wanted, path)
        if wider_type(reader) is not None:
            return self.read(writer, _plain(of_branch), wanted, path)
        if not isinstance(wanted, Struct):
            raise _mismatch(reader, reader, wanted, path)
        self._check_members(wanted, len(members), path)
        names = [one.name for one in wanted.fields]
        name = f"member{len(members_of(Union(reader.branches[:branch])))}"
        to = names.index(name) if name in names else -1
        if to < 0:
            value = self._skip(writer)
        else:
            value = self.read(writer, of_branch, wanted.fields[to].type, f"{path}.{name}")
        others = [at for at in range(len(names)) if at != to]
        return self._add("member", [weight(wanted), value, to, *others])

    def _check_members(self, wanted: Struct, count: int, path: str) -> None:
        known = [f"member{at}" for at in range(count)]
        for one in wanted.fields:
            if one.name not in known and self._has_reader:
                raise SchemaError(f"{path} is a union of {', '.join(known)}, and has no {one.name}")

    def _record(self, writer: Record, reader: Record, wanted: Struct, path: str) -> int:
        places = {one.name: at for at, one in enumerate(wanted.fields)}
        of_reader = {one.name: one for one in reader.fields}
        left = dict(places)
        written: list[int] = []
        for one in writer.fields:
            field = of_reader.get(one.name)
            place = None if field is None else left.pop(field.name, None)
            if field is None or place is None:
                written += (self._skip(one.schema), -1)
                continue
            kind = wanted.fields[place].type
            inner = f"{path}.{one.name}"
            written += (self.read(one.schema, field.schema, kind, inner), place)
        defaults: list[int] = []
        missing: list[int] = []
        for name, place in left.items():
            if not self._has_reader:
                missing.append(place)
                continue
            inner = f"{path}.{name}"
            field = of_reader.get(name)
            if field is None:
                raise SchemaError(f"{inner} is not in the schema, which has {_names(reader)}")
            if not field.has_default:
                raise SchemaError(f"{inner} is not in the writer's schema, and has no default")
            defaults += (self._default(field, wanted.fields[place].type, inner), place)
        numbers = [weight(wanted), len(writer.fields), *written]
        numbers += [len(defaults) // 2, *defaults, *missing]
        return self._add("record", numbers, [one.name for one in writer.fields])

    def _default(self, field: Field, wanted: Type, path: str) -> int:
        value = self.read(field.schema, field.schema, wanted, path)
        try:
            data = encoded(field)
        except SchemaError as error:
            raise SchemaError(f"the default of {path} is wrong: {error}") from None
        return self._add("default", [value], [data.hex()])

    def _fixed(self, writer: Fixed, reader: Fixed, wanted: Type, path: str) -> int:
        if wanted == "binary":
            return self._add("fixed", [writer.size])
        logical = writer.logical or reader.logical
        if isinstance(wanted, Decimal) and _fits(logical, wanted):
            return self._add("decimal", [wanted.precision, writer.size])
        raise _mismatch(writer, reader, wanted, path)

    def _primitive(self, writer: Primitive, reader: Primitive, wanted: Type, path: str) -> int:
        if writer.kind != reader.kind and reader.kind not in PROMOTED.get(writer.kind, ()):
            raise _mismatch(writer, reader, wanted, path)
        logical = writer.logical or (reader.logical if writer.kind == reader.kind else None)
        if isinstance(wanted, Decimal):
            if writer.kind == "bytes" and _fits(logical, wanted):
                return self._add("decimal", [wanted.precision])
            raise _mismatch(writer, reader, wanted, path)
        name = str(wanted)
        if reader.logical is not None and reader.logical.name == "decimal" and name != "binary":
            raise _mismatch(writer, reader, wanted, path)  # its bytes are no text
        if logical is not None and (logical.name, name) in _LOGICAL:
            return self._add(_LOGICAL[logical.name, name])
        # A number in another unit than that of the columns would pass unnoticed.
        is_same_unit = reader.logical in (None, logical)
        if is_same_unit and (writer.kind, name) in _CONVERSIONS:
            return self._add(_CONVERSIONS[writer.kind, name])
        raise _mismatch(writer, reader, wanted, path)

    def _skip(self, schema: Schema) -> int:
        match schema:
            case Primitive("null"):
                return self._add("null", [0])
            case Primitive(kind):
                return self._add("bytes" if kind == "string" else kind)
            case Fixed(size=size):
                return self._add("fixed", [size])
            case Enum(symbols=symbols):
                return self._add("enum", texts=symbols)
            case Items(of):
                return self._add("array", [self._skip(of)])
            case Values(of):
                return self._add("map", [self._skip(of)])
            case Union(branches):
                return self._add("union", [self._skip(one) for one in branches])
        if schema not in self._skipped:
            # It may contain itself.
            place = self._skipped[schema] = self._add("record")
            written = [part for one in schema.fields for part in (self._skip(one.schema), -1)]
            names = [one.name for one in schema.fields]
            self.steps[place] = ("record", [0, len(names), *written, 0], names)
        return self._skipped[schema]

    def _add(self, name: str, numbers: Sequence[int] = (), texts: Sequence[str] = ()) -> int:
        self._made += 1
        if self._made > STEPS_MAX:
            raise SchemaError(f"its schema takes more than {STEPS_MAX} steps to read")
        self.steps.append((name, list(numbers), list(texts)))
        return len(self.steps) - 1


def _plain(schema: Schema) -> Schema:
    """Of a union of numbers, whose logical types Spark does not look at."""
    return Primitive(schema.kind) if isinstance(schema, Primitive) else schema


def _symbols(writer: Enum, reader: Enum) -> list[str]:
    default = reader.default or ""
    return [one if one in reader.symbols else default for one in writer.symbols]


def _fits(logical: Logical | None, wanted: Decimal) -> bool:
    return (
        logical is not None
        and logical.name == "decimal"
        and logical.scale == wanted.scale
        and logical.precision <= wanted.precision
    )


def _mismatch(writer: Schema, reader: Schema, wanted: Type, path: str) -> SchemaError:
    found = _shown(writer)
    if kind_of(writer) != kind_of(reader) and not isinstance(reader, Union):
        found += f", where its columns' schema has {_shown(reader)}"
    return SchemaError(f"{path} is {found}, which cannot be read as {str(wanted).upper()}")


def _shown(schema: Schema) -> str:
    kind = kind_of(schema)
    article = "an" if kind[0] in "aeio" else "a"
    name = {"items": "an array", "values": "a map", "null": "null"}.get(kind, f"{article} {kind}")
    if isinstance(schema, Named):
        name = f"the {kind} {schema.name}"
    logical = schema.logical if isinstance(schema, (Primitive, Fixed)) else None
    if logical is None:
        return name
    digits = f"({logical.precision},{logical.scale})" if logical.precision else ""
    return f"{name} ({logical.name}{digits})"


def _names(record: Record) -> str:
    names = [one.name for one in record.fields]
    return ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
