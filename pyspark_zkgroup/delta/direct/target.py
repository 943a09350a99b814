"""What travels to the tasks: where they write files, with which columns and partition values.

The driver hands it to the source as JSON, in an option.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from pyspark_zkgroup.delta.direct.storage import LOCAL, Storage
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.schema import COLUMNS, Column, Struct, Type, column_of

OFFSET = "offset"
HIDDEN_OFFSET = "_zkgroup_offset"
"""A column of files whose table has no column `offset`. Readers do not see it: it is not in the
table's schema. A file is cut at an offset by it.
"""
DAY = "day"
TARGET_FILE_BYTES = 256 * 2**20
# Their values are text in the log that every reader understands alike.
PARTITION_TYPES = ("string", "boolean", "tinyint", "smallint", "int", "bigint", "date")
PLACE = tuple(one for one in COLUMNS if one.name in ("topic", "partition", OFFSET))
_TIMESTAMP = next(one for one in COLUMNS if one.name == "timestamp")


@dataclass(frozen=True, slots=True)
class PartitionColumn:
    """A partition column of the table: `source` is the path to it in a row; of a timestamp its UTC
    day is taken.
    """

    name: str
    type: Type
    source: tuple[str, ...]

    @property
    def is_day(self) -> bool:
        return self.type == "date" and self.source == ("timestamp",)


@dataclass(frozen=True, slots=True)
class Target:
    """`columns` are those of the table."""

    directory: str
    columns: tuple[Column, ...]
    partition_by: tuple[PartitionColumn, ...] = ()
    epoch_column: str = "epoch"
    epoch: int | None = None
    statistics: tuple[str, ...] = ()
    """Paths of the leaf columns that files have statistics of."""
    file_bytes: int = TARGET_FILE_BYTES
    storage: Storage = LOCAL
    """Not in the JSON, which Spark shows as an option: it may hold credentials."""

    def as_json(self) -> str:
        plain = asdict(replace(self, storage=LOCAL))
        del plain["storage"]
        return json.dumps(plain, separators=(",", ":"))

    @classmethod
    def of_json(cls, text: str) -> Target:
        """Raises DeltaError if `as_json` cannot have made the text."""
        try:
            return _target(json.loads(text))
        except ValueError as error:
            raise DeltaError.of("bad_target", error=error) from None

    @property
    def file_columns(self) -> tuple[Column, ...]:
        """Those of the files: partition values are in the log."""
        outside = {one.name for one in self.partition_by}
        kept = tuple(one for one in self.columns if one.name not in outside)
        if OFFSET in (one.name for one in kept):
            return kept
        return (*kept, Column(HIDDEN_OFFSET, "bigint"))

    @property
    def offset_column(self) -> str:
        names = [one.name for one in self.file_columns]
        return OFFSET if OFFSET in names else HIDDEN_OFFSET


def _target(plain: object) -> Target:
    match plain:
        case {
            "directory": str(directory),
            "columns": [*columns],
            "partition_by": [*partition_by],
            "epoch_column": str(epoch_column),
            "epoch": int() | None as epoch,
            "statistics": [*statistics],
            "file_bytes": int(file_bytes),
        }:
            return Target(
                directory,
                tuple(map(column_of, columns)),
                tuple(map(_partition_column, partition_by)),
                epoch_column,
                epoch,
                tuple(map(str, statistics)),
                file_bytes,
            )
    raise ValueError(f"a field is missing or has another type: {plain!r}")


def _partition_column(plain: object) -> PartitionColumn:
    match plain:
        case {"name": str(name), "type": str(kind), "source": [*source]}:
            return PartitionColumn(name, kind, tuple(map(str, source)))
    raise ValueError(f"{plain!r} is not a partition column")


def row_columns(asked: tuple[Column, ...], partition_by: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns to read: those that were asked for, and those that say where a record
    comes from and which partition it goes to.
    """
    names = {one.name for one in asked}
    wanted = [*PLACE]
    if DAY in partition_by and DAY not in names:
        wanted.append(_TIMESTAMP)
    return (*asked, *(one for one in wanted if one.name not in names))


def partition_column(name: str, row: tuple[Column, ...]) -> PartitionColumn | None:
    """Return what a name of `partition_by` refers to: a column of the row, a field within one
    (`value.country`, which becomes a column `country`), or `day`.
    """
    first, *path = name.split(".")
    found = next((one for one in row if one.name == first), None)
    if found is None:
        return PartitionColumn(DAY, "date", ("timestamp",)) if name == DAY else None
    for field in path:
        inside = found.type
        fields = inside.fields if isinstance(inside, Struct) else ()
        found = next((one for one in fields if one.name == field), None)
        if found is None:
            return None
    return PartitionColumn(found.name, found.type, (first, *path))
