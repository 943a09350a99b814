"""Creates the table, or gives one that other writers have filled its first bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.conflicts import until_won
from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.requirements import check_table, delta_schema
from pyspark_zkgroup.delta.direct.storage import files_in
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from deltalake import DeltaTable

Names = tuple[str, str, str]
"""Of the columns for topic, partition and offset."""
KEYS: Names = ("topic", "partition", "offset")
PREPARED_MAX = 5
"""Attempts to create a table in an object store or take it over."""
_WHOLE = ("short", "integer", "long")
_KEY_TYPES = (("string",), _WHOLE, ("long",))


def prepare(target: Target) -> None:
    """Raise DeltaError unless tasks may write to the table, which exists afterwards and has
    watermarks. The caller keeps other writers away.
    """
    table = deltars.opened(target.directory, target.storage)
    if table is None:
        _refuse_other_files(target)
        schema = delta_schema(target.columns)
        partitioned = [one.name for one in target.partition_by]
        deltars.created(target.directory, schema, partitioned, target.storage)
        return
    check_table(deltars.described(table), target)
    take_over(table, KEYS, target.epoch_column, target.directory)


def prepare_stored(target: Target) -> None:
    """Prepare a table in an object store, where no lock keeps others away: of two queries that
    create the table or take it over, the second one finds what the first one has made. So does a
    query whose own answer was lost.
    """
    from deltalake.exceptions import DeltaError as DeltaRsError

    def attempt() -> None:
        with target.storage.guarded(target.directory, is_repeated=True):
            prepare(target)

    def given_up(error: Exception) -> DeltaError:
        return DeltaError.of("storage_failed", where=target.directory, error=error)

    until_won(attempt, (DeltaRsError, OSError), lambda _: None, given_up, PREPARED_MAX)


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


def _refuse_other_files(target: Target) -> None:
    """Names that begin with `_` or `.` do not count: readers of a table ignore them."""
    names = files_in(target.directory, target.storage).names()
    if others := [name for name in names if not name.startswith(("_", "."))]:
        raise DeltaError.of("other_files", where=target.directory, files=", ".join(others[:3]))
