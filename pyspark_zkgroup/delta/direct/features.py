"""Names which features of a table an append from here honours, and which it refuses.

Files that tasks write are added to the log as they are. So whatever a writer would have to check or
to add for each row is refused: the table would hold rows that other engines take for impossible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

HONOURED = frozenset(
    {
        "appendOnly",
        "changeDataFeed",
        "checkConstraints",
        "columnMapping",
        "deletionVectors",
        "generatedColumns",
        "identityColumns",
        "invariants",
        "timestampNtz",
        "vacuumProtocolCheck",
        "variantType",
    }
)
"""What a table may list as features. The use of those that concern rows is refused below."""

# Records always have these; any other column may be null.
NEVER_NULL = frozenset({"topic", "partition", "offset", "timestamp", "timestampType"})

_PROPERTIES = {
    "delta.enableRowTracking": ("row tracking", "true"),
    "delta.enableInCommitTimestamps": ("in-commit timestamps", "true"),
    "delta.enableIcebergCompatV1": ("Iceberg compatibility", "true"),
    "delta.enableIcebergCompatV2": ("Iceberg compatibility", "true"),
}
_METADATA = {
    "delta.generationExpression": "generated columns",
    "delta.identity.start": "identity columns",
    "delta.invariants": "column invariants",
    "__CHAR_VARCHAR_TYPE_STRING": "CHAR and VARCHAR columns",
}


@dataclass(frozen=True, slots=True)
class Described:
    """A table's metadata: `schema` is the parsed JSON of its schema."""

    schema: Mapping[str, Any]
    partitioned_by: tuple[str, ...]
    properties: Mapping[str, str]
    features: frozenset[str] = frozenset()

    @property
    def fields(self) -> dict[str, Mapping[str, Any]]:
        return {one["name"]: one for one in self.schema["fields"]}


def refused(
    table: Described, written: Collection[str], never_null: Collection[str] = NEVER_NULL
) -> list[str]:
    """Return what the table has that these columns cannot be appended to, each by its name."""
    return sorted(set(_refused(table, frozenset(written), frozenset(written) & set(never_null))))


def _refused(
    table: Described, written: frozenset[str], never_null: frozenset[str]
) -> Iterator[str]:
    for name, value in table.properties.items():
        if name.startswith("delta.constraints."):
            yield f"the constraint {name.removeprefix('delta.constraints.')!r}"
        if name == "delta.columnMapping.mode" and value != "none":
            yield f"column mapping (mode {value!r})"
        feature, on = _PROPERTIES.get(name, ("", ""))
        if feature and value.lower() == on:
            yield feature
        if name == "delta.setTransactionRetentionDuration":
            yield f"{name}, which expires the watermarks of idle partitions"
    yield from _of_columns(table, written, never_null)
    for feature in table.features - HONOURED:
        yield f"the table feature {feature!r}"


def _of_columns(
    table: Described, written: frozenset[str], never_null: frozenset[str]
) -> Iterator[str]:
    for name, column in _fields("", table.schema):
        for key, what in _METADATA.items():
            if key in column.get("metadata", {}):
                yield f"{what} ({name!r})"
        if not column.get("nullable", True) and name not in never_null:
            yield f"the NOT NULL column {name!r}"
        if "CURRENT_DEFAULT" in column.get("metadata", {}) and name not in written:
            yield f"a default of the column {name!r}"
    for column in table.schema["fields"]:
        if column["name"] in written:
            for path in _without_nulls(column["name"], column["type"]):
                yield f"NOT NULL elements or values ({path!r})"


def _fields(above: str, kind: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Return columns and, by their paths, the fields within them."""
    if not isinstance(kind, Mapping):
        return
    for one in kind.get("fields", ()):
        path = f"{above}{one['name']}"
        yield path, one
        yield from _fields(f"{path}.", one["type"])
    for inside in ("elementType", "keyType", "valueType"):
        yield from _fields(above, kind.get(inside))


def _without_nulls(path: str, kind: Any) -> Iterator[str]:
    """Return the paths of arrays and maps that must not have null in them."""
    if not isinstance(kind, Mapping):
        return
    if False in (kind.get("containsNull"), kind.get("valueContainsNull")):
        yield path
    for one in kind.get("fields", ()):
        yield from _without_nulls(f"{path}.{one['name']}", one["type"])
    for inside in ("elementType", "keyType", "valueType"):
        yield from _without_nulls(path, kind.get(inside))
