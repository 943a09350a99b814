"""What a table must have so that files of these columns may be added to it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pyspark_zkgroup.delta.direct.deltars import VERSION, WATERMARKED
from pyspark_zkgroup.delta.direct.features import Described, refused
from pyspark_zkgroup.delta.direct.target import (
    DAY,
    PARTITION_TYPES,
    PartitionColumn,
    Target,
    partition_column,
    row_columns,
)
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import INTERVAL, Array, Column, Map, Struct, Type, arrow_schema

_WHOLE = ("byte", "short", "integer", "long")


def partition_columns(
    names: tuple[str, ...], row: tuple[Column, ...], columns: tuple[Column, ...]
) -> tuple[PartitionColumn, ...]:
    """Raise DeltaError unless each name of `partition_by` can be a partition column of a table that
    has these columns, too. Tables have no columns that are equal but for case.
    """
    found: list[PartitionColumn] = []
    there = {column.name.lower() for column in columns}
    for name in names:
        one = partition_column(name, row)
        if one is None:
            raise DeltaError.of(
                "no_partition_column", name=name, columns=", ".join(one.name for one in row)
            )
        if one.type not in PARTITION_TYPES:
            raise DeltaError.of(
                "partition_type", name=name, type=one.type, allowed=", ".join(PARTITION_TYPES)
            )
        is_new = one.source != (one.name,)
        if one.name.lower() in (other.name.lower() for other in found) or (
            is_new and one.name.lower() in there
        ):
            raise DeltaError.of("partition_twice", name=name, column=one.name)
        found.append(one)
    return tuple(found)


def names_of_table(table: Described, asked: tuple[Column, ...]) -> tuple[str, ...]:
    """Return the columns that `partition_by` would name for this table, or fields of that name.
    DeltaError where the values of a partition column may come from several.
    """
    return tuple(_source(table, name, asked) for name in table.partitioned_by)


def _source(table: Described, name: str, asked: tuple[Column, ...]) -> str:
    if name in (one.name for one in asked):
        return name
    row = row_columns(asked, (DAY,))
    found = []
    for path in (name, *(f"{one.name}.{name}" for one in asked)):
        one = partition_column(path, row)
        if one is not None and one.type in PARTITION_TYPES and _fits(table.fields[name], one):
            found.append(path)
    if len(found) > 1:
        raise DeltaError.of("ambiguous_partition", column=name, names=" or ".join(found))
    return found[0] if found else name


def check_table(table: Described, target: Target) -> None:
    """Raise DeltaError with what an append to the table would break."""
    where, written = target.directory, [one.name for one in target.columns]
    partitioned = tuple(one.name for one in target.partition_by)
    if found := refused(table, written):
        raise DeltaError.of("features", where=where, found=", ".join(found))
    if (version := table.properties.get(WATERMARKED, VERSION)) != VERSION:
        raise DeltaError.of("newer_watermarks", where=where, version=version, supported=VERSION)
    if partitioned != table.partitioned_by:
        raise DeltaError.of(
            "other_partitions",
            where=where,
            found=", ".join(table.partitioned_by) or "no column",
            asked=", ".join(partitioned) or "no column",
        )
    by = {one.name: one for one in target.partition_by}
    for column in target.columns:
        _check_column(table, column, where, by.get(column.name))


def _check_column(
    table: Described, column: Column, where: str, partition: PartitionColumn | None
) -> None:
    there = table.fields.get(column.name)
    same = [name for name in table.fields if name.lower() == column.name.lower()]
    if there is None and same:
        raise DeltaError.of("other_case", where=where, column=column.name, found=same[0])
    if there is None:
        raise DeltaError.of(
            "missing_column",
            where=where,
            column=column.name,
            type=column.type,
            columns=", ".join(table.fields),
        )
    found = bare_type(there["type"])
    if _fits(there, partition) if partition else found == bare_type(delta_type(column)):
        return
    raise DeltaError.of(
        "other_type",
        where=where,
        column=column.name,
        found=found if isinstance(found, str) else json.dumps(found),
        type=column.type,
    )


def _fits(there: Mapping[str, Any], partition: PartitionColumn) -> bool:
    """Whether the table's column can have each of the values, which are text in the log."""
    found, wanted = there["type"], delta_type(Column(partition.name, partition.type))
    if partition.source == ("partition",):
        wanted = "short"  # holds the number of any Kafka partition
    if found in _WHOLE and wanted in _WHOLE:
        return _WHOLE.index(found) >= _WHOLE.index(wanted)
    return bool(found == wanted)


def delta_schema(columns: tuple[Column, ...]) -> str:
    """Return the schema of a new table, as Delta's log has it. DeltaError if it cannot have one of
    the columns.
    """
    fields = [
        {"name": one.name, "type": delta_type(one), "nullable": True, "metadata": {}}
        for one in columns
    ]
    return json.dumps({"type": "struct", "fields": fields})


def delta_type(column: Column) -> Any:
    """Return the type as Delta's schema writes it; DeltaError if it has none."""
    from deltalake import Schema

    if INTERVAL in str(column.type):
        raise DeltaError.of("no_delta_type", column=column.name, type=column.type)
    if field := _field_twice(column.type):
        raise DeltaError.of("field_twice", column=column.name, field=field)
    schema = json.loads(Schema.from_arrow(arrow_schema((column,))).to_json())
    return schema["fields"][0]["type"]


def _field_twice(kind: Type) -> str | None:
    """Return the name of a field that is there twice but for case, if any."""
    match kind:
        case Array(element):
            return _field_twice(element)
        case Map(key, value):
            return _field_twice(key) or _field_twice(value)
        case Struct(fields):
            names = Counter(one.name.lower() for one in fields)
            twice = (one.name for one in fields if names[one.name.lower()] > 1)
            inside = (_field_twice(one.type) for one in fields)
            return next(twice, None) or next(filter(None, inside), None)
    return None


def bare_type(kind: Any) -> Any:
    """Without what says whether null is allowed, and without comments."""
    if not isinstance(kind, dict):
        return kind
    bare = {
        name: bare_type(value)
        for name, value in kind.items()
        if not name.lower().endswith("containsnull")
    }
    if "fields" in bare:
        bare["fields"] = [{"name": f["name"], "type": bare_type(f["type"])} for f in kind["fields"]]
    return bare
