"""Which types a column of JSON may have."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_zkgroup.schema import Array, Column, Decimal, Map, Struct, Type

SCALARS = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
)
_CORRUPT = "_corrupt_record"


def refusal(column: Column) -> str | None:
    """Why JSON cannot become this column, if so."""
    if not isinstance(column.type, (Struct, Array, Map)):
        return f"{column.name} is {column.type}, but JSON becomes STRUCT, ARRAY or MAP"
    return next(_refusals(column.type, column.name), None)


def has_time_zone(kind: Type) -> bool:
    """Whether some of it is read in a time zone."""
    match kind:
        case Array(element):
            return has_time_zone(element)
        case Map(_, value):
            return has_time_zone(value)
        case Struct(fields):
            return any(has_time_zone(one.type) for one in fields)
        case _:
            return kind == "timestamp"


def _refusals(kind: Type, path: str) -> Iterator[str]:
    match kind:
        case Decimal():
            pass
        case Array(element):
            yield from _refusals(element, f"{path}.element")
        case Map(key, value):
            if key != "string":
                yield f"the keys of {path} are {key}, but those of JSON are STRING"
            yield from _refusals(value, f"{path}.value")
        case Struct(fields):
            if not fields:
                yield f"{path} has no fields"
            seen = set()
            for one in fields:
                if one.name in seen:
                    yield f"{path} has two fields {one.name!r}"
                if one.name == _CORRUPT:
                    yield f"{path} has a field {_CORRUPT!r}, which from_json fills itself"
                seen.add(one.name)
                yield from _refusals(one.type, f"{path}.{one.name}")
        case _ if kind not in SCALARS:
            yield f"{path} is {kind}, which is not supported"
