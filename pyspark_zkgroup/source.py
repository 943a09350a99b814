"""The thin pyspark adapter: Spark's names on the outside, planner and task on the inside.

Spark makes the reader in the long-lived planner process on the driver and once more in a short one,
only to pickle it for the tasks. So constructors keep nothing but the options: the planner is made
at the first driver-side call.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.schema import spark_ddl, spark_simple

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

    from pyspark_zkgroup.batch_source import ZkGroupBatchReader
    from pyspark_zkgroup.cluster_view import ClusterView
    from pyspark_zkgroup.coordinator.candidate import Candidate
    from pyspark_zkgroup.kafka.settings import FetchSettings
    from pyspark_zkgroup.options import Options
    from pyspark_zkgroup.plan import TaskInput
    from pyspark_zkgroup.planner import Planner

_NO_LIMIT = 2**62

try:  # Spark 4.2 on
    from pyspark.sql.streaming.datasource import (
        ReadAllAvailable,
        ReadLimit,
        ReadMaxRows,
        SupportsTriggerAvailableNow,
    )

    HAS_ADMISSION_CONTROL = True
except ImportError:  # 4.0 and 4.1 know no limits and no available-now of Python sources
    HAS_ADMISSION_CONTROL = False

    class SupportsTriggerAvailableNow:  # type: ignore[no-redef]
        pass


class ZkGroupPartition(InputPartition):
    """What travels to one task. Nothing in it names ZooKeeper."""

    def __init__(self, task: TaskInput, settings: FetchSettings) -> None:
        super().__init__(None)
        self.task = task
        self.settings = settings


class ZkGroupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: Options) -> None:
        self.options = options
        self._planner: Planner | None = None
        self._brokers: ClusterView | None = None
        self._candidate: Candidate | None = None
        self._stopping = False

    def __getstate__(self) -> dict[str, Any]:
        unmade = dict.fromkeys(("options", "_planner", "_brokers", "_candidate"))
        return {**unmade, "_stopping": False}

    # -- on the driver

    def initialOffset(self) -> dict[str, Any]:
        return self.planner.initial_offset()

    def getDefaultReadLimit(self) -> ReadLimit:
        # Never ReadAllAvailable: that is what trigger(once) passes, and so it can be told apart.
        return ReadMaxRows(self.options.max_offsets_per_trigger or _NO_LIMIT)

    def prepareForTriggerAvailableNow(self) -> None:
        self.planner.prepare_available_now()

    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """One signature for all: Spark 4.0 and 4.1 call it without arguments."""
        once = HAS_ADMISSION_CONTROL and isinstance(limit, ReadAllAvailable)
        rows = None if once else self.options.max_offsets_per_trigger
        if HAS_ADMISSION_CONTROL and isinstance(limit, ReadMaxRows) and limit.max_rows < _NO_LIMIT:
            rows = limit.max_rows
        return self.planner.latest_offset(start, rows, once)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._planner is None else self._planner.report_latest()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        tasks = self.planner.partitions(start, end)
        if not tasks or self._brokers is None:
            return []
        settings = self._brokers.fetch_settings()
        return [ZkGroupPartition(task, settings) for task in tasks]

    def commit(self, end: dict[str, Any]) -> None:
        """Comes a batch late and proves nothing that latestOffset has not proved before."""

    def stop(self) -> None:
        """Spark never calls this itself: it is reached when the planner process is told to end."""
        self._stopping = True
        if self._planner is not None:
            self._planner.stop()
        if self._candidate is not None:
            self._candidate.close()
        if self._brokers is not None:
            self._brokers.close()

    @property
    def planner(self) -> Planner:
        if self._planner is None:
            from pyspark_zkgroup.cluster_view import ClusterView
            from pyspark_zkgroup.coordinator.beside_member import candidate_of
            from pyspark_zkgroup.membership.choice import membership
            from pyspark_zkgroup.planner import Planner
            from pyspark_zkgroup.records.choice import slow_because
            from pyspark_zkgroup.silence import watch
            from pyspark_zkgroup.worker_log import log_to_stderr

            log_to_stderr()
            slow_because()  # the tasks say so too, but who looks into executors' logs?
            self._brokers = ClusterView(self.options)
            chosen = membership(self.options, self._brokers)
            self._planner = Planner(self.options, chosen, self._brokers)
            watch(self._planner.silence)
            self._leave_on_sigterm()
            self._candidate = candidate_of(self.options, chosen.member)
            if self._candidate is not None:
                self._candidate.start()
        return self._planner

    def _leave_on_sigterm(self) -> None:
        """Spark ends the planner process with SIGTERM, sometimes twice, and does not wait.

        The first one raises SystemExit wherever we are; the runner's `finally` then calls stop().
        Any further one must not interrupt the leaving.
        """
        process = os.getpid()

        def leave(_signum: int, _frame: object) -> None:
            if os.getpid() == process and not self._stopping:
                self._stopping = True
                raise SystemExit(0)

        signal.signal(signal.SIGTERM, leave)

    # -- in the tasks

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        from pyspark_zkgroup import task
        from pyspark_zkgroup.worker_heap import freeze_once

        freeze_once()  # after the import, so that what it has loaded is spared too
        assert isinstance(partition, ZkGroupPartition)
        yield from task.read(partition.task, partition.settings)


class DefaultSource(DataSource):
    """`spark.readStream.format("zkgroup")`. Spark finds it by its module's name, without a register
    call.
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)

    @classmethod
    def name(cls) -> str:
        return "zkgroup"

    def schema(self) -> str:
        from pyspark_zkgroup.options import parse

        # A wrong option fails here, at load(), not when the query starts. Only Spark knows by now
        # whether it is a stream or a batch read.
        return spark_ddl(parse(self.options, "either").include_headers)

    def reader(self, schema: StructType) -> ZkGroupBatchReader:
        from pyspark_zkgroup.batch_source import batch_reader
        from pyspark_zkgroup.options import parse

        options = parse(self.options, "batch")
        _check_schema(schema, options)
        return batch_reader(options)

    def streamReader(self, schema: StructType) -> ZkGroupStreamReader:
        from pyspark_zkgroup.options import parse

        options = parse(self.options)
        _check_schema(schema, options)
        return ZkGroupStreamReader(options)


def _check_schema(schema: StructType, options: Options) -> None:
    if schema.simpleString() != spark_simple(options.include_headers):
        raise OptionError(
            f"The source was given the schema {schema.simpleString()}, but its rows have "
            f"the fixed schema {spark_ddl(options.include_headers)}",
            "Leave out .schema(...), and cast the columns after load()",
        )
