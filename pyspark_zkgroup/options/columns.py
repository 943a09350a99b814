"""The columns of rows: those that `.schema(...)` names, or without it the same for every reader."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.formats.shaping import RowShape
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.avro import AvroOptions, avro_options
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.protobuf import ProtobufOptions, protobuf_options
from pyspark_zkgroup.options.registry import KEY_SUBJECT, URL, VALUE_SUBJECT, registry_access
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.registry.access import RegisteredSchema
from pyspark_zkgroup.schema import COLUMNS, CORRUPT, HEADERS, WITH_HEADERS, Column, Type

if TYPE_CHECKING:
    from pyspark_zkgroup.formats.port import Format

FormatName = Literal["binary", "string", "json", "avro", "protobuf"]
BadRecords = Literal["fail", "permissive"]

_WITH_SCHEMA: Final = frozenset(("avro", "protobuf"))
_FORMAT: Rule[FormatName] = rules.one_of("binary", "string", "json", "avro", "protobuf")


def _zone(text: str) -> str:
    from pyspark_zkgroup.formats.json.zone import offsets

    offsets(text)
    return text


_TIME_ZONE: Rule[str] = Rule("UTC, an offset such as +01:00, or a region such as Asia/Tokyo", _zone)

SECTION: Final = Section(__name__, "Columns")

INCLUDE_HEADERS = SECTION.option("includeHeaders", rules.FLAG, False)
"""Without `.schema(...)`, give rows a column `headers` of the type
`array<struct<key:string,value:binary>>`: null for a record without headers.
"""
KEY_FORMAT: Final[Option[FormatName]] = SECTION.option("key.format", _FORMAT, "binary")
"""Format of the keys. json: `.schema(...)` gives the column `key` the type STRUCT, ARRAY or MAP.
avro: key.avro.schema gives it its type. protobuf: key.protobuf.descriptor and key.protobuf.message
do.
"""
VALUE_FORMAT: Final[Option[FormatName]] = SECTION.option("value.format", _FORMAT, "binary")
"""Format of the values. json: `.schema(...)` gives the column `value` the type STRUCT, ARRAY or
MAP. avro: value.avro.schema gives it its type. protobuf: value.protobuf.descriptor and
value.protobuf.message do.
"""
JSON_TIME_ZONE = SECTION.optional("json.timeZone", _TIME_ZONE)
"""The time zone of times in JSON that name none. Required if the schema has a TIMESTAMP in JSON:
Spark does not tell a source the session's time zone, which is
`spark.conf.get("spark.sql.session.timeZone")`.
"""
BAD_RECORDS: Final[Option[BadRecords]] = SECTION.option(
    "bad.records", rules.one_of("fail", "permissive"), "fail"
)
"""What happens to a key or value that does not have its column's type, if `.schema(...)` has no
column `corrupt STRUCT<bytes: BINARY, reason: STRING>`. fail: it ends the batch with an error.
permissive: it becomes what Spark's PERMISSIVE mode makes of it, and a warning in the task's log
counts it.
"""

_ALLOWED_TYPES: Final[dict[str, tuple[Type, ...]]] = {
    **{column.name: (column.type,) for column in (*WITH_HEADERS, CORRUPT)},
    "key": ("binary", "string"),
    "value": ("binary", "string"),
}


@dataclass(frozen=True, slots=True)
class ColumnOptions:
    include_headers: bool = False
    key_format: FormatName = "binary"
    value_format: FormatName = "binary"
    time_zone: str | None = None
    bad_records: BadRecords = "fail"
    described: tuple[AvroOptions | ProtobufOptions, ...] = ()
    """Of the columns whose records have a schema."""

    @property
    def default(self) -> tuple[Column, ...]:
        """Those of a reader without `.schema(...)`."""
        for name, form in self._formats.items():
            if form == "json":
                raise OptionError.of("json_without_schema", column=name)
        columns = WITH_HEADERS if self.include_headers else COLUMNS
        types: dict[str, Type] = {
            name: "string" for name, form in self._formats.items() if form == "string"
        }
        types |= {one.column: one.type for one in self.described}
        return tuple(replace(one, type=types.get(one.name, one.type)) for one in columns)

    def with_schemas(self, schemas: Mapping[str, RegisteredSchema]) -> ColumnOptions:
        """Those of columns that have none yet."""
        described = (
            replace(one, schema=one.schema or schemas.get(one.column)) for one in self.described
        )
        return replace(self, described=tuple(described))

    def shape(self, requested: tuple[Column, ...]) -> RowShape:
        """OptionError unless rows can have exactly these columns."""
        if not requested:
            raise OptionError.of("schema_without_columns", names=_names())
        self._check_names([column.name for column in requested])
        formats: list[tuple[str, Format]] = []
        for column in requested:
            form = self._format(column)
            if form is None:
                _check_type(column)
            else:
                formats.append((column.name, form))
        if CORRUPT in requested and not formats:
            raise OptionError.of("corrupt_without_format")
        return RowShape(requested, tuple(formats), self.bad_records == "permissive")

    def _format(self, column: Column) -> Format | None:
        """What its bytes are parsed as, if they are."""
        if self._formats.get(column.name) == "json":
            from pyspark_zkgroup.formats.json.format import JsonFormat

            self._check_json(column)
            return JsonFormat(self.time_zone or "UTC")
        found = (one.format(column) for one in self.described if one.column == column.name)
        return next(found, None)

    @property
    def _formats(self) -> dict[str, FormatName]:
        return {"key": self.key_format, "value": self.value_format}

    def _check_names(self, names: list[str]) -> None:
        for at, name in enumerate(names):
            if name not in _ALLOWED_TYPES:
                near = difflib.get_close_matches(name.lower(), _ALLOWED_TYPES, 1, 0.6)
                hint = f"Did you mean {near[0]!r}? " if near else self._hint(name)
                raise OptionError.of("unknown_column", column=name, hint=hint, names=_names())
            if name in names[:at]:
                raise OptionError.of("column_twice", column=name)
        if self.include_headers and HEADERS.name not in names:
            raise OptionError.of("headers_not_in_schema", column=_ddl(HEADERS.name, HEADERS.type))

    def _hint(self, field: str) -> str:
        """Of who names the fields of parsed values as columns."""
        if self.value_format in ("binary", "string"):
            return ""
        return f"Fields of the values go into their column: value STRUCT<{field}: ...>. "

    def _check_json(self, column: Column) -> None:
        from pyspark_zkgroup.formats.json.types import has_time_zone, refusal

        reason = refusal(column)
        if reason is not None:
            raise OptionError.of("json_type", column=column.name, reason=reason)
        if has_time_zone(column.type) and self.time_zone is None:
            raise OptionError.of("time_zone_missing", column=column.name)


def column_options(given: Given) -> ColumnOptions:
    formats = {"key": given.value(KEY_FORMAT), "value": given.value(VALUE_FORMAT)}
    registry = registry_access(given)
    if registry is not None and not _WITH_SCHEMA.intersection(formats.values()):
        raise given.clash(
            URL, "no format is avro or protobuf", "Set value.format=avro, or leave it out"
        )
    described = [
        options(given, name, form, registry)
        for name, form in formats.items()
        for options in (avro_options, protobuf_options)
    ]
    for name, subject in (("key", KEY_SUBJECT), ("value", VALUE_SUBJECT)):
        if formats[name] not in _WITH_SCHEMA:
            given.refuse(
                (subject,),
                f"'{name}.format' is {formats[name]}",
                f"Set {name}.format=avro or protobuf, or leave it out",
            )
    return ColumnOptions(
        given.value(INCLUDE_HEADERS),
        formats["key"],
        formats["value"],
        given.value(JSON_TIME_ZONE),
        given.value(BAD_RECORDS),
        tuple(one for one in described if one is not None),
    )


def _check_type(column: Column) -> None:
    allowed = _ALLOWED_TYPES[column.name]
    if column.type not in allowed:
        nested = column.name in ("key", "value") and not isinstance(column.type, str)
        otherwise = (
            f", or set {column.name}.format=json" if nested else ", and cast it after load()"
        )
        raise OptionError.of(
            "column_type",
            column=column.name,
            type=_shown(column.type),
            allowed=" or ".join(map(_shown, allowed)),
            example=_ddl(column.name, allowed[0]),
            otherwise=otherwise,
        )


def _names() -> str:
    return ", ".join(_ALLOWED_TYPES)


def _ddl(name: str, kind: Type) -> str:
    return f"'{name} {_shown(kind)}'"


def _shown(kind: Type) -> str:
    return str(kind).upper() if isinstance(kind, str) else str(kind)
