"""Whether files that Spark has written as plain Parquet may be added to a table as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.delta.direct.deltars import VERSION, WATERMARKED
from pyspark_zkgroup.delta.direct.features import Described, refused
from pyspark_zkgroup.delta.direct.requirements import bare_type
from pyspark_zkgroup.delta.keys import Keys

INDEXED_COLUMNS = 32
# Their values are text in the log that every reader understands alike.
PARTITION_TYPES = ("string", "boolean", "byte", "short", "integer", "long", "date")
_WHOLE = ("byte", "short", "integer", "long")
_STATS_COUNT, _STATS_NAMES = "delta.dataSkippingNumIndexedCols", "delta.dataSkippingStatsColumns"


@dataclass(frozen=True, slots=True)
class Written:
    """A column of a batch: the table's name for it, and the type to cast it to, if any."""

    name: str
    column: str
    cast: str | None = None


def obstacles(table: Described, fields: Sequence[Mapping[str, Any]], by: Keys) -> list[str]:
    """Return what the table has that these columns of a batch cannot be appended to as files.
    `fields` are those of the batch's schema as JSON; none where they are not known yet.
    """
    return [*_of_table(table, fields, by), *_of_columns(table, fields)]


def columns(table: Described, fields: Sequence[Mapping[str, Any]]) -> list[Written]:
    """Return how a batch without obstacles becomes rows of the table."""
    found = []
    for field in fields:
        there = _column(table, field["name"])
        assert there is not None
        same = bare_type(there["type"]) == bare_type(field["type"])
        found.append(Written(field["name"], there["name"], None if same else there["type"]))
    return found


def indexed(table: Described) -> tuple[str, ...]:
    """Return the paths of the leaf columns that the table's files have statistics of."""
    leaves = [
        leaf
        for field in table.schema["fields"]
        if field["name"] not in table.partitioned_by
        for leaf in _leaves(field["name"], field)
    ]
    if names := table.properties.get(_STATS_NAMES):
        wanted = [name.strip().strip("`") for name in names.split(",")]
        return tuple(
            path
            for path, is_plain in leaves
            if is_plain and any(path == one or path.startswith(f"{one}.") for one in wanted)
        )
    count = int(table.properties.get(_STATS_COUNT, INDEXED_COLUMNS))
    return tuple(path for path, is_plain in leaves[: None if count < 0 else count] if is_plain)


def _of_table(table: Described, fields: Sequence[Mapping[str, Any]], by: Keys) -> Iterator[str]:
    found = (_column(table, field["name"]) for field in fields)
    written = [one["name"] for one in found if one is not None]
    # Rows without one of these are refused before they are written.
    yield from refused(table, written or by.record, by.record)
    version = table.properties.get(WATERMARKED, VERSION)
    if version != VERSION:
        yield f"the version {version} of its watermarks, which this release does not know"
    for name in table.partitioned_by:
        kind = table.fields[name]["type"]
        if kind not in PARTITION_TYPES:
            yield f"the partition column {name!r} of the type {kind}"


def _of_columns(table: Described, fields: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for field in fields:
        there = _column(table, field["name"])
        if there is None:
            yield f"the missing column {field['name']!r}"
            continue
        found, given = bare_type(there["type"]), bare_type(field["type"])
        widened = found in _WHOLE and given in _WHOLE and _WHOLE.index(given) < _WHOLE.index(found)
        if found != given and not widened:
            yield _difference(there["name"], there["type"], field["type"])


def _difference(path: str, there: Any, given: Any) -> str:
    """Name the first field below `path` that differs, not the whole type."""
    if isinstance(there, dict) and isinstance(given, dict) and there["type"] == given["type"]:
        if there["type"] == "struct":
            known = {one["name"].lower(): one for one in there["fields"]}
            for field in given["fields"]:
                one = known.pop(field["name"].lower(), None)
                below = f"{path}.{field['name']}"
                if one is None:
                    return f"the missing column {below!r}"
                if bare_type(one["type"]) != bare_type(field["type"]):
                    return _difference(below, one["type"], field["type"])
            if known:
                return f"the column {path + '.' + next(iter(known))!r}, which the batch lacks"
        for part in ("elementType", "keyType", "valueType"):
            if part in there and bare_type(there[part]) != bare_type(given[part]):
                return _difference(f"{path}.{part.removesuffix('Type')}", there[part], given[part])
    return f"the column {path!r}, which is {_named(there)} in the table and {_named(given)} here"


def _named(kind: Any) -> str:
    return str(kind["type"] if isinstance(kind, dict) else kind)


def _column(table: Described, name: str) -> Mapping[str, Any] | None:
    """Compare names as Spark resolves them."""
    return next(
        (one for one in table.schema["fields"] if one["name"].lower() == name.lower()), None
    )


def _leaves(path: str, field: Mapping[str, Any]) -> Iterator[tuple[str, bool]]:
    """Return paths, and whether bounds can be given: not within arrays and maps, and not where a
    name has a dot. Bounds of a decimal depend on how the file stores it.
    """
    kind = field["type"]
    if isinstance(kind, dict) and kind["type"] == "struct":
        for one in kind["fields"]:
            for below, is_plain in _leaves(f"{path}.{one['name']}", one):
                yield below, is_plain and "." not in field["name"]
        return
    yield path, isinstance(kind, str) and "." not in field["name"] and "decimal" not in kind
