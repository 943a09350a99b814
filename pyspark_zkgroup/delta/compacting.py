"""Merges small files of a table on a local disk, and removes files that it no longer names.

delta-rs does the work while members run: an append never conflicts with a compaction, which
changes no row. The lock is held for one partition of the table at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.lock import alone_here
from pyspark_zkgroup.errors import DeltaError

if TYPE_CHECKING:
    from deltalake import DeltaTable

_REWRITTEN = {
    "delta.enableRowTracking": "row tracking",
    "delta.enableInCommitTimestamps": "in-commit timestamps",
    "delta.enableIcebergCompatV1": "Iceberg compatibility",
    "delta.enableIcebergCompatV2": "Iceberg compatibility",
}
# delta-rs takes their files for some that were never added, and removes them.
_DELETION_VECTORS = "deletionVectors"


@dataclass(frozen=True, slots=True)
class Small:
    """A partition of the table, and its files that are smaller than the target."""

    values: Mapping[str, str | None]
    files: int
    bytes: int


def small_partitions(
    files: Iterable[tuple[Mapping[str, str | None], int]], target_bytes: int, files_min: int
) -> list[Small]:
    """Return the partitions with at least so many small files; those with most files first.
    `files` are partition values and sizes.
    """
    found: dict[tuple[tuple[str, str | None], ...], list[int]] = {}
    for values, size in files:
        if size < target_bytes:
            found.setdefault(tuple(sorted(values.items())), []).append(size)
    small = [
        Small(dict(values), len(sizes), sum(sizes))
        for values, sizes in found.items()
        if len(sizes) >= files_min
    ]
    return sorted(small, key=lambda one: (-one.files, str(one.values)))


class Compaction:
    """Compacts one table. DeltaError where it cannot be compacted."""

    def __init__(self, directory: Path) -> None:
        deltars.check_installed()
        self._directory = directory
        table = deltars.opened(str(directory))
        if table is None:
            raise DeltaError.of("no_table", where=directory)
        self._table: DeltaTable = table
        described = deltars.described(table)
        for name, what in _REWRITTEN.items():
            if described.properties.get(name, "").lower() == "true":
                raise DeltaError.of("not_compacted", where=directory, found=what)

    def partitions(self, target_bytes: int, files_min: int) -> list[Small]:
        self._table.update_incremental()
        columns = self._table.metadata().partition_columns
        return small_partitions(_files(self._table, columns), target_bytes, files_min)

    def compact(self, one: Small, target_bytes: int) -> tuple[int, int]:
        """Return how many files were merged into how many. DeltaError if that failed."""
        from deltalake.exceptions import DeltaError as DeltaRsError

        filters = [(name, "=", "" if v is None else v) for name, v in one.values.items()]
        try:
            with alone_here(self._directory):
                self._table.update_incremental()
                done = self._table.optimize.compact(
                    partition_filters=filters or None, target_size=target_bytes
                )
        except (DeltaRsError, OSError) as error:
            raise DeltaError.of("not_merged", where=self._directory, error=error) from error
        return int(done["numFilesRemoved"]), int(done["numFilesAdded"])

    def vacuum(self, hours: int) -> int:
        """Remove files that were dropped from the table, or never added, so many hours ago; return
        how many. DeltaError if the table keeps them longer, or has deletion vectors.
        """
        from deltalake.exceptions import DeltaError as DeltaRsError

        self._table.update_incremental()
        if _DELETION_VECTORS in deltars.described(self._table).features:
            raise DeltaError.of("not_vacuumed", where=self._directory)
        try:
            with alone_here(self._directory):
                return len(self._table.vacuum(hours, dry_run=False, full=True))
        except DeltaRsError as error:
            if "retention" not in str(error).lower():
                raise
            raise DeltaError.of("retention", where=self._directory, hours=hours) from error


def _files(table: DeltaTable, columns: list[str]) -> Iterator[tuple[dict[str, str | None], int]]:
    import pyarrow as pa

    actions = pa.table(table.get_add_actions(flatten=True)).to_pydict()
    for number, size in enumerate(actions["size_bytes"]):
        values = {name: actions[f"partition.{name}"][number] for name in columns}
        yield {name: None if v is None else str(v) for name, v in values.items()}, size
