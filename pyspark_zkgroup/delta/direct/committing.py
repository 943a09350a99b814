"""One commit for each micro-batch: the files that the tasks have written, and the watermarks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.delta.conflicts import ATTEMPTS_MAX, until_won
from pyspark_zkgroup.delta.direct import deltars
from pyspark_zkgroup.delta.direct.descriptions import described
from pyspark_zkgroup.delta.direct.features import Described
from pyspark_zkgroup.delta.direct.position import Position
from pyspark_zkgroup.delta.direct.requirements import check_table
from pyspark_zkgroup.delta.direct.rules import (
    Decision,
    ReadRange,
    WrittenFile,
    asked,
    decide,
    unexplained,
)
from pyspark_zkgroup.delta.direct.storage import is_object_store
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.delta.lock import alone
from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ACCEPTED, _DELETED = "accept_gaps=True allows it", "Kafka no longer has them"
_log = logging.getLogger("pyspark_zkgroup.delta")


Earliest = Callable[[frozenset[TopicPartition]], Mapping[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class Committer:
    """What foreachBatch calls with the rows that describe the files."""

    commits: Commits
    options: Mapping[str, str]

    def __call__(self, batch: DataFrame, batch_id: int) -> None:
        rows = batch.collect()
        read, files = described(rows)
        if read:
            brokers = {address for row in rows for address in (row["brokers"] or "").split(",")}
            with self._alone(batch.sparkSession):
                self.commits.commit(read, files, self._earliest(brokers - {""}))

    def _alone(self, spark: SparkSession) -> AbstractContextManager[None]:
        """Object stores keep writers apart by themselves, and Spark may not be able to open one."""
        where = self.commits.directory
        return nullcontext() if is_object_store(where) else alone(spark, where)

    def _earliest(self, brokers: set[str]) -> Earliest:
        """Return what asks the brokers that the tasks have read from where logs begin."""

        def ask(partitions: frozenset[TopicPartition]) -> Mapping[TopicPartition, int]:
            from pyspark_zkgroup.options import parse
            from pyspark_zkgroup.planning.cluster_view import ClusterView

            view = ClusterView(parse(self.options))
            try:
                view.found(sorted(brokers))
                return view.earliest(partitions)
            finally:
                view.close()

        return ask


class Commits:
    """The commits of one query. The caller keeps other writers away from tables on disks."""

    def __init__(self, target: Target, *, accept_gaps: bool = False) -> None:
        self.directory = target.directory
        self._target = target
        self._accept_gaps = accept_gaps
        self._position = Position(target.directory, target.epoch, self._check, target.storage)

    def commit(
        self, read: Collection[ReadRange], files: Collection[WrittenFile], earliest: Earliest
    ) -> None:
        """Add what the table does not have of these files, and move the watermarks."""
        from deltalake.exceptions import DeltaError as DeltaRsError

        def lost(error: Exception) -> None:
            # Another writer was first, or the answer was lost after the effect: the watermarks
            # tell. No file is deleted here, since the lost commit may have added it.
            self._position.forget()
            _log.info("A commit to %s failed: %s", self.directory, error)

        def given_up(error: Exception) -> DeltaError:
            return DeltaError.of(
                "no_commit", where=self.directory, attempts=ATTEMPTS_MAX, error=error
            )

        def attempt() -> None:
            with self._target.storage.guarded(self.directory, is_repeated=True):
                self._attempt(read, files, earliest)

        until_won(attempt, (DeltaRsError, OSError), lost, given_up)

    def _attempt(
        self, read: Collection[ReadRange], files: Collection[WrittenFile], earliest: Earliest
    ) -> None:
        table, marks = self._position.look(asked(read))
        decision = decide(marks.watermarks, read, files, marks.bounds)
        self._judge(decision, earliest)
        if decision.advance:
            from pyspark_zkgroup.delta.direct.cutting import cut, has_rows

            added = list(decision.add)
            for one in decision.cut:
                added += cut(self._target, one, has_rows(table, self._target, one))
            self._position.commit(
                added,
                decision.advance,
                dict.fromkeys(decision.passed, 0),
                is_alone=any(len(one.looked_at) for one in decision.cut),
            )

    def _check(self, found: Described) -> None:
        check_table(found, self._target)
        if deltars.WATERMARKED not in found.properties:
            raise DeltaError.of("watermarks_gone", where=self.directory)

    def _judge(self, decision: Decision, earliest: Earliest) -> None:
        for one in decision.present:
            _log.info("Skipped %s of %s: the table has these records", one.range, one.log)
        if not decision.gaps:
            return
        refused = unexplained(decision.gaps, earliest)
        if refused and not self._accept_gaps:
            gap = refused[0]
            raise DeltaError.of(
                "gap",
                where=self.directory,
                log=gap.log,
                watermark=gap.watermark,
                start=gap.start,
                last=gap.start - 1,
            )
        for gap in decision.gaps:
            _log.warning(
                catalogue.warning(
                    "ZKG-198",
                    where=self.directory,
                    log=gap.log,
                    first=gap.watermark,
                    last=gap.start - 1,
                    reason=_ACCEPTED if gap in refused else _DELETED,
                )
            )
