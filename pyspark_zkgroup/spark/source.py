"""The thin pyspark adapter: Spark's names on the outside, planner and task on the inside.

Spark makes the reader in the long-lived planner process on the driver and once more in a short one,
only to pickle it for the tasks. So constructors keep nothing but the options: the planner is made
at the first driver-side call.
"""

from __future__ import annotations

import logging
import os
import signal
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.schema import spark_ddl
from pyspark_zkgroup.spark.plain_errors import plain

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.types import StructType

    from pyspark_zkgroup.formats.shaping import RowShape
    from pyspark_zkgroup.kafka.settings import FetchSettings
    from pyspark_zkgroup.options import Options
    from pyspark_zkgroup.plan import TaskInput
    from pyspark_zkgroup.planning.cluster_view import ClusterView
    from pyspark_zkgroup.planning.planner import Planner
    from pyspark_zkgroup.protocols.coordinator.candidate import Candidate
    from pyspark_zkgroup.registry.access import Version
    from pyspark_zkgroup.spark.batch_source import ZkGroupBatchReader

    TaskOutput = Callable[[TaskInput, FetchSettings, Iterable[RecordBatch]], Iterator[RecordBatch]]

_NO_LIMIT = 2**62
_log = logging.getLogger("pyspark_zkgroup.source")

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

    def __init__(
        self,
        task: TaskInput,
        settings: FetchSettings,
        shape: RowShape,
        output: TaskOutput | None = None,
    ) -> None:
        super().__init__(None)
        self.task = task
        self.settings = settings
        self.shape = shape
        self.output = output


@dataclass(frozen=True)
class Asked:
    """What a stream was asked for. `versions` are what the columns come from, where `.schema(...)`
    does not name them.
    """

    options: Options
    shape: RowShape
    versions: tuple[Version, ...] = ()


class ZkGroupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, ask: Callable[[], Asked], load: str = "") -> None:
        """`ask` reads the options, at Spark's first question: a process that only pickles the
        reader for the tasks has none. And if the constructor raised, Spark's runner would fail once
        more at stopping a reader that it does not have, and show that failure as the last one.
        """
        self._ask: Callable[[], Asked] | None = ask
        self._load = load
        self.output: TaskOutput | None = None
        """What tasks return in place of the records, if anything."""
        self._planner: Planner | None = None
        self._brokers: ClusterView | None = None
        self._candidate: Candidate | None = None
        self._stopping = False

    def __getstate__(self) -> dict[str, Any]:
        unmade = dict.fromkeys(("_ask", "_planner", "_brokers", "_candidate", "output"))
        return {**unmade, "_load": "", "_stopping": False}

    @cached_property
    def asked(self) -> Asked:
        assert self._ask is not None
        return self._ask()

    # -- on the driver

    @plain
    def initialOffset(self) -> dict[str, Any]:
        return self.planner.initial_offset()

    @plain
    def getDefaultReadLimit(self) -> ReadLimit:
        # Never ReadAllAvailable: that is what trigger(once) passes, which is how to recognise it.
        return ReadMaxRows(self.asked.options.batches.offsets_max or _NO_LIMIT)

    @plain
    def prepareForTriggerAvailableNow(self) -> None:
        self.planner.prepare_available_now()

    @plain
    def latestOffset(
        self, start: dict[str, Any] | None = None, limit: ReadLimit | None = None
    ) -> dict[str, Any]:
        """One signature for all: Spark 4.0 and 4.1 call it without arguments."""
        if HAS_ADMISSION_CONTROL:
            once = isinstance(limit, ReadAllAvailable)
        else:
            once = bool(self.asked.options.batches.ends_by_itself)
        return self.planner.latest_offset(start, once)

    def reportLatestOffset(self) -> dict[str, Any] | None:
        return None if self._planner is None else self._planner.report_latest()

    @plain
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        tasks = self.planner.partitions(start, end)
        if not tasks or self._brokers is None:
            return []
        settings, shape = self._brokers.fetch_settings(), self.asked.shape
        return [ZkGroupPartition(task, settings, shape, self.output) for task in tasks]

    def commit(self, end: dict[str, Any]) -> None:
        """Comes a batch late and proves nothing that latestOffset has not proved before."""

    def stop(self) -> None:
        """Spark never calls this: it runs when the planner process receives a signal to end."""
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
            from pyspark_zkgroup.tasks.worker_heap import uncollected

            with uncollected():
                self._make_planner()
        assert self._planner is not None
        return self._planner

    def _make_planner(self) -> None:
        from pyspark_zkgroup.planning.cluster_view import ClusterView
        from pyspark_zkgroup.planning.planner import Planner
        from pyspark_zkgroup.planning.silence import watch
        from pyspark_zkgroup.protocols.choice import membership
        from pyspark_zkgroup.records.choice import slow_because
        from pyspark_zkgroup.spark.pinned import pin
        from pyspark_zkgroup.worker_log import log_to_stderr

        log_to_stderr()
        options, chosen = self.asked.options, self.asked.options.protocol
        if chosen.name == "kafka" and chosen.by_default:
            _log.info("Using the brokers' group coordinator: %s", chosen.by_default)
        slow_because()  # the tasks say so too, but who looks into executors' logs?
        if not HAS_ADMISSION_CONTROL and options.batches.ends_by_itself and _limits(options):
            _log.warning(catalogue.warning("ZKG-145", options=_limits(options)))
        self._brokers = ClusterView(options)
        member = membership(options, self._brokers)
        self._planner = Planner(options, member, self._brokers, load=self._load)
        watch(self._planner.silence)
        self._leave_on_sigterm()
        if self.asked.versions:
            pin(options, self.asked.versions)
        if chosen.name == "coordinator":
            from pyspark_zkgroup.spark.candidate import candidate_of

            self._candidate = candidate_of(options, member.member)
            if self._candidate is not None:
                self._candidate.start()

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
        from pyspark_zkgroup.tasks import reading as task
        from pyspark_zkgroup.tasks.worker_heap import freeze_once

        freeze_once()  # after the import, so that what it has loaded is spared too
        assert isinstance(partition, ZkGroupPartition)
        batches = task.read(partition.task, partition.settings, partition.shape)
        if partition.output is not None:
            batches = partition.output(partition.task, partition.settings, batches)
        yield from batches


class DefaultSource(DataSource):
    """The source that `spark.readStream.format("zkgroup")` and `spark.read.format("zkgroup")` name.

    Spark finds it by its module's name, without a register call. `options`: those of the reader.

        orders = spark.readStream.format("zkgroup").options(**options).load()
    """

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        # Spark calls it once per load(), and keeps it, pickled, for all that comes of it.
        self._load = uuid.uuid4().hex
        self._versions: Mapping[str, Version] = {}

    @classmethod
    def name(cls) -> str:
        return "zkgroup"

    @plain
    def schema(self) -> str:
        from pyspark_zkgroup.options import parse
        from pyspark_zkgroup.spark.pinned import chosen_versions, with_versions

        # A wrong option fails here, at load(), not when the query starts. Only Spark knows by now
        # whether it is a stream or a batch read.
        options = parse(self.options, "either")
        self._versions = chosen_versions(options)
        return spark_ddl(with_versions(options, self._versions).columns.default)

    @plain
    def reader(self, schema: StructType) -> ZkGroupBatchReader:
        from pyspark_zkgroup.options import parse
        from pyspark_zkgroup.spark.batch_source import batch_reader
        from pyspark_zkgroup.spark.pinned import with_versions

        options = with_versions(parse(self.options, "batch"), self._versions)
        return batch_reader(options, _shape(schema, options))

    @plain
    def writer(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise OptionError.of("reads_only")

    @plain
    def streamWriter(self, schema: StructType, overwrite: bool) -> NoReturn:
        raise OptionError.of("reads_only")

    def streamReader(self, schema: StructType) -> ZkGroupStreamReader:
        return ZkGroupStreamReader(lambda: self._asked(schema), self._load)

    def _asked(self, schema: StructType) -> Asked:
        from pyspark_zkgroup.options import parse
        from pyspark_zkgroup.spark.pinned import check_can_pin, with_versions

        options = with_versions(parse(self.options), self._versions)
        check_can_pin(options, self._versions)
        shape = _shape(schema, options)
        _check_trigger(options)
        return Asked(options, shape, tuple(self._versions.values()))


def _limits(options: Options) -> str:
    """The names of the limits that one batch may leave records behind for, if any are given."""
    given = {
        "maxOffsetsPerTrigger": options.batches.offsets_max,
        "maxBytesPerTrigger": options.batches.bytes_max,
    }
    return " and ".join(name for name, limit in given.items() if limit is not None)


def _check_trigger(options: Options) -> None:
    """Without admission control a query that ends by itself has one batch, and looks like any
    other: cut by a limit, each run of a job would fall further behind, and end as a success.
    """
    limits = _limits(options)
    if limits and options.batches.ends_by_itself is None and not HAS_ADMISSION_CONTROL:
        raise OptionError.of("ends_by_itself_missing", limits=limits)


def _shape(schema: StructType, options: Options) -> RowShape:
    """Of `.schema(...)`, or where there is none of what `DefaultSource.schema` gave."""
    from pyspark_zkgroup.formats.shaping import Shaper
    from pyspark_zkgroup.spark.columns import columns_of

    shape = options.columns.shape(columns_of(schema))
    Shaper(shape)  # reports here what a task could not do
    return shape
