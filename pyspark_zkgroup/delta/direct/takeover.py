"""Creates the table, or gives one that other writers have filled its first watermarks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.requirements import check_table
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.errors import DeltaError

_KEYS = ("topic", "partition", "offset")
_KEY_TYPES = {"topic": ("string",), "partition": ("short", "integer", "long"), "offset": ("long",)}


def prepare(target: Target) -> None:
    """DeltaError unless tasks may write to the table, which exists afterwards and has watermarks.
    The caller keeps other writers away.
    """
    table = deltars.opened(target.directory)
    if table is None:
        _refuse_other_files(target.directory)
        partitioned = [one.name for one in target.partition_by]
        deltars.created(target.directory, target.columns, partitioned)
        return
    found = deltars.described(table)
    check_table(found, target)
    if deltars.WATERMARKED in found.properties:
        return
    if not table.file_uris():
        deltars.taken_over(table, {})
        return
    if missing := _missing_keys(found):
        raise DeltaError.of("cannot_take_over", where=target.directory, columns=", ".join(missing))
    epochs = target.epoch_column if target.epoch_column in found.fields else None
    offsets = deltars.highest_offsets(table, _KEYS, epochs)
    deltars.taken_over(table, first_watermarks(offsets, target.directory))


def first_watermarks(
    offsets: Mapping[tuple[str | None, int | None, int | None], int | None], where: str
) -> dict[str, int]:
    """Return the watermarks, by their application ids, of a table whose rows have these highest
    offsets. They name no topic id: rows do not tell it.
    """
    found: dict[str, int] = {}
    for (topic, partition, epoch), offset in offsets.items():
        if topic is None or partition is None or offset is None:
            raise DeltaError.of("rows_without_key", where=where)
        found[deltars.application(Log(topic, partition), epoch)] = offset + 1
    return found


def _missing_keys(table: Described) -> list[str]:
    return [
        name
        for name in _KEYS
        if table.fields.get(name, {"type": ""})["type"] not in _KEY_TYPES[name]
    ]


def _refuse_other_files(directory: str) -> None:
    """Names that begin with `_` or `.` do not count: readers of a table ignore them."""
    place = Path(directory)
    names = sorted(one.name for one in place.iterdir()) if place.is_dir() else []
    if others := [name for name in names if not name.startswith(("_", "."))]:
        raise DeltaError.of("other_files", where=directory, files=", ".join(others[:3]))
