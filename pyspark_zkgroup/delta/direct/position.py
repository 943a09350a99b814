"""A table at the version that the next commit builds on, with its marks as of that version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.bounds import Marks
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.direct.storage import LOCAL, Storage
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from deltalake import DeltaTable


class Position:
    """Kept from batch to batch: marks are read again only after commits of others. `check` raises
    where the table's metadata no longer allow an append.
    """

    def __init__(
        self,
        directory: str,
        epoch: int | None,
        check: Callable[[Described], None],
        storage: Storage = LOCAL,
    ) -> None:
        self.directory = directory
        self._storage = storage
        self._epoch = epoch
        self._check = check
        self._table: DeltaTable | None = None
        self._checked: Described | None = None
        self._seen = -1
        self._versions: dict[str, int | None] = {}
        self._moved: Mapping[str, int] = {}
        # Python's end waits for it. It would end a daemon within delta-rs: a segmentation fault.
        self._aside = ThreadPoolExecutor(1, "zkgroup-delta")
        self._reading: Future[None] | None = None

    def look(self, logs: Collection[Log]) -> tuple[DeltaTable, Marks]:
        """Return the table as it is now, and the marks of these logs and their partitions."""
        moved, self._moved = self._moved, {}
        if self._table is None:
            table = deltars.opened(self.directory, self._storage)
            if table is None:
                raise DeltaError.of("table_gone", where=self.directory)
            self._described(table)
            self._table, self._versions = table, {}
        else:
            table = self._table
            if self._reading is not None:
                self._reading.result()
            table.update_incremental()
            if moved and table.version() == self._seen + 1:
                self._versions |= moved  # that version is our commit
            elif table.version() != self._seen:
                self._described(table)
                self._versions = {}
        self._seen = table.version()
        watermarks, bounds = {}, {}
        for log in logs:
            version = self._version(table, deltars.application(log, self._epoch))
            if version is not None:
                watermarks[log] = version
        for of in {log.of for log in logs}:
            version = self._version(table, deltars.bound_of(of, self._epoch))
            if version is not None:
                bounds[of] = version
        return table, Marks(watermarks, bounds)

    def commit(
        self,
        files: Iterable[deltars.AddedFile],
        advance: Mapping[Log, int],
        bounds: Mapping[TopicPartition, int],
        *,
        is_alone: bool,
    ) -> None:
        """Add the files and move the marks, onto the version that was looked at."""
        assert self._table is not None
        moved = {deltars.application(log, self._epoch): to for log, to in advance.items()}
        moved |= {deltars.bound_of(of, self._epoch): to for of, to in bounds.items()}
        deltars.commit(self._table, files, moved, is_alone)
        self._moved = moved
        # This goes through all files of the table. Spark can read the next batch meanwhile.
        self._reading = self._aside.submit(self._table.update_incremental)

    def forget(self) -> None:
        """After a failure: what was read may be old, or the commit may have been made."""
        self._table = self._reading = None

    def _version(self, table: DeltaTable, name: str) -> int | None:
        if name not in self._versions:
            self._versions[name] = table.transaction_version(name)
        return self._versions[name]

    def _described(self, table: DeltaTable) -> None:
        found = deltars.described(table)
        if found != self._checked:
            self._check(found)
            self._checked = found
