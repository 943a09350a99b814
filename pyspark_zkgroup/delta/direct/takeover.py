"""Creates the table, or gives one that other writers have filled its first bounds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.requirements import check_table
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from deltalake import DeltaTable

Names = tuple[str, str, str]
"""Of the columns for topic, partition and offset."""
KEYS: Names = ("topic", "partition", "offset")
_WHOLE = ("short", "integer", "long")
_KEY_TYPES = (("string",), _WHOLE, ("long",))


def prepare(target: Target) -> None:
    """Raise DeltaError unless tasks may write to the table, which exists afterwards and has
    watermarks. The caller keeps other writers away.
    """
    table = deltars.opened(target.directory)
    if table is None:
        _refuse_other_files(target.directory)
        partitioned = [one.name for one in target.partition_by]
        deltars.created(target.directory, target.columns, partitioned)
        return
    check_table(deltars.described(table), target)
    take_over(table, KEYS, target.epoch_column, target.directory)


def take_over(table: DeltaTable, names: Names, epoch_column: str, where: str) -> None:
    """Give a table without marks bounds above its rows, and from then on each append keeps them.
    DeltaError where rows do not tell which records they are.
    """
    found = deltars.described(table)
    if deltars.keeps_marks(table, found):
        return
    if not table.file_uris():
        deltars.taken_over(table, {})
        return
    if missing := missing_keys(found, names):
        raise DeltaError.of("cannot_take_over", where=where, columns=", ".join(missing))
    has_epochs = found.fields.get(epoch_column, {"type": ""})["type"] in _WHOLE
    offsets = deltars.highest_offsets(table, names, epoch_column if has_epochs else None)
    deltars.taken_over(table, first_bounds(offsets, where))


def first_bounds(
    offsets: Mapping[tuple[str | None, int | None, int | None], int | None], where: str
) -> dict[str, int]:
    """Return the bounds, by their application ids, of a table whose rows have these highest
    offsets. Writers without an epoch look at the rows of all epochs.
    """
    found: dict[str, int] = {}
    for (topic, partition, epoch), offset in offsets.items():
        if topic is None or partition is None or offset is None:
            raise DeltaError.of("rows_without_key", where=where)
        for of_epoch in {epoch, None}:
            name = deltars.bound_of(TopicPartition(topic, partition), of_epoch)
            found[name] = max(found.get(name, 0), offset + 1)
    return found


def missing_keys(table: Described, names: Names) -> list[str]:
    return [
        name
        for name, types in zip(names, _KEY_TYPES, strict=True)
        if table.fields.get(name, {"type": ""})["type"] not in types
    ]


def _refuse_other_files(directory: str) -> None:
    """Names that begin with `_` or `.` do not count: readers of a table ignore them."""
    place = Path(directory)
    names = sorted(one.name for one in place.iterdir()) if place.is_dir() else []
    if others := [name for name in names if not name.startswith(("_", "."))]:
        raise DeltaError.of("other_files", where=directory, files=", ".join(others[:3]))
