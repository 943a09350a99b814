"""Appends to a table that keeps bounds: Spark writes the files, delta-rs commits them.

Rows at and beyond a bound are written without a look at the table (direct/bounds.py). The lock is
held for the commit only. Where rows must be compared, it is held from the comparison on, and any
commit since then makes the append fail and compare again.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark_zkgroup.delta import suited
from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.bounds import Look, look
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.position import Position
from pyspark_zkgroup.delta.direct.rules import Log
from pyspark_zkgroup.delta.keys import Keys
from pyspark_zkgroup.delta.lock import alone
from pyspark_zkgroup.delta.ranges import Box, boxes
from pyspark_zkgroup.delta.replay_tasks import few_replay_tasks
from pyspark_zkgroup.delta.staging import StagedFile, move, staged
from pyspark_zkgroup.delta.table import Table
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyspark.sql import DataFrame

Fresh = Callable[["DataFrame", Table, Keys, tuple[Box, ...]], "DataFrame"]


class LostCommitError(Exception):
    """Another writer was first, or the storage failed: the batch looks at the table again."""


class BoundedTable:
    """Appends batches of one schema. There is one per process."""

    def __init__(self, directory: Path, by: Keys, batch: DataFrame) -> None:
        self.directory, self._by = directory, by
        self._fields = batch.schema.jsonValue()["fields"]
        self._position = Position(str(directory), by.epoch, self._check)
        self._found = Described({"fields": []}, (), {})

    def append(
        self,
        batch: DataFrame,
        ranges: Mapping[TopicPartition, OffsetRange],
        logs: Collection[Log],
        fresh: Fresh,
    ) -> None:
        """Append the rows that the table lacks, all of which lie in these ranges.

        LostCommitError if that must be tried again.
        """
        asked = {
            *logs,
            *(log.without_id for log in logs),
            *(Log(of.topic, of.partition) for of in ranges),
        }

        def looked() -> tuple[DeltaTable, Look]:
            table, marks = self._position.look(asked)
            return table, look(marks, ranges, logs)

        spark = batch.sparkSession
        _, found = looked()
        if not found.compared:
            with self._staged(self._rows(batch)) as files, alone(spark, str(self.directory)):
                if looked()[1] != found:
                    raise LostCommitError("another writer has appended to the batch's partitions")
                self._commit(files, found, is_alone=False)
            return
        with alone(spark, str(self.directory)):
            table, found = looked()
            as_of = Table(path=str(self.directory), version=table.version())
            with few_replay_tasks(spark, len(table.file_uris())):
                if found.compared:
                    batch = fresh(batch, as_of, self._by, boxes(found.compared))
                with self._staged(self._rows(batch)) as files:
                    self._commit(files, found, is_alone=True)

    def _rows(self, batch: DataFrame) -> DataFrame:
        """As the table names and types the columns."""
        of = self._by.of
        chosen = []
        for one in suited.columns(self._found, self._fields):
            column = of(one.name) if one.cast is None else of(one.name).cast(one.cast)
            chosen.append(column.alias(one.column))
        return batch.select(*chosen)

    def _staged(self, rows: DataFrame) -> AbstractContextManager[list[StagedFile]]:
        found = self._found
        by = {name: found.fields[name]["type"] for name in found.partitioned_by}
        return staged(rows, self.directory, by, suited.indexed(found))

    def _commit(self, files: list[StagedFile], found: Look, *, is_alone: bool) -> None:
        from deltalake.exceptions import DeltaError as DeltaRsError

        if not files and not found.bounds:
            return
        move(files, self.directory)
        try:
            self._position.commit(files, {}, found.bounds, is_alone=is_alone)
        except (DeltaRsError, OSError) as error:
            # Its answer may have been lost after the effect: no file is deleted.
            self._position.forget()
            raise LostCommitError(str(error)) from error

    def _check(self, found: Described) -> None:
        if deltars.WATERMARKED not in found.properties:
            raise LostCommitError("the table has lost its bounds")
        if reasons := suited.obstacles(found, self._fields, self._by):
            raise DeltaError.of("unsuited", where=self.directory, found=", ".join(reasons))
        self._found = found
