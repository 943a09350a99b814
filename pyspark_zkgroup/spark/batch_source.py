"""The pyspark adapter of batch reads: `spark.read.format("zkgroup")`.

Spark makes the reader in a process on the driver, asks it for the partitions and pickles it for the
tasks. Whether it takes filters is a matter of its class: Spark refuses every read by a reader that
has `pushFilters` unless a configuration of Spark's is set, so that method belongs to a class that
an option chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSourceReader, InputPartition

from pyspark_zkgroup.errors import OptionError

if TYPE_CHECKING:
    from pyarrow import RecordBatch
    from pyspark.sql.datasource import Filter

    from pyspark_zkgroup.formats.shaping import RowShape
    from pyspark_zkgroup.kafka.settings import FetchSettings
    from pyspark_zkgroup.options import Options
    from pyspark_zkgroup.plan import TaskInput
    from pyspark_zkgroup.ranges.pushdown import Condition, Narrowing, Operator, Value

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_OPERATORS: dict[str, Operator] = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "In": "in",
    "IsNull": "is null",
    "IsNotNull": "is not null",
    "StringStartsWith": "starts with",
    "StringEndsWith": "ends with",
    "StringContains": "contains",
}


class ZkGroupBatchPartition(InputPartition):
    """What travels to one task. Nothing in it names ZooKeeper."""

    def __init__(self, task: TaskInput, settings: FetchSettings, shape: RowShape) -> None:
        super().__init__(None)
        self.task = task
        self.settings = settings
        self.shape = shape


class ZkGroupBatchReader(DataSourceReader):
    def __init__(self, options: Options, shape: RowShape) -> None:
        self.options = options
        self._shape = shape
        self._narrowing: Narrowing | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"options": None, "_shape": None, "_narrowing": None}

    def partitions(self) -> Sequence[InputPartition]:
        from pyspark_zkgroup.planning.batch_read import batch_tasks
        from pyspark_zkgroup.worker_log import log_to_stderr

        log_to_stderr()
        found = batch_tasks(self.options, self._narrowing)
        return [ZkGroupBatchPartition(task, found.settings, self._shape) for task in found.tasks]

    def read(self, partition: InputPartition) -> Iterator[RecordBatch]:
        from pyspark_zkgroup.tasks import reading as task
        from pyspark_zkgroup.tasks.worker_heap import freeze_once

        freeze_once()  # after the import, so that what it has loaded is spared too
        if type(partition) is InputPartition:
            return  # Spark's own: where there is nothing to read it makes a task all the same
        assert isinstance(partition, ZkGroupBatchPartition)
        yield from task.read(partition.task, partition.settings, partition.shape)


class FilteringBatchReader(ZkGroupBatchReader):
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        from pyspark_zkgroup.ranges.pushdown import push

        self._narrowing, left = push([condition_of(one) for one in filters])
        return [filters[place] for place in left]


def batch_reader(options: Options, shape: RowShape) -> ZkGroupBatchReader:
    if not options.batch_read.push_filters:
        return ZkGroupBatchReader(options, shape)
    if not hasattr(DataSourceReader, "pushFilters"):
        raise OptionError.of("no_pushdown")
    return FilteringBatchReader(options, shape)


def condition_of(one: Any) -> Condition:
    """By the names of Spark's classes, which 4.0 does not have. What has none of these names, or is
    of a column inside another, becomes a condition on no column: Spark keeps it.
    """
    from pyspark_zkgroup.ranges.pushdown import Condition

    negated = type(one).__name__ == "Not"
    inner = one.child if negated else one
    operator = _OPERATORS.get(type(inner).__name__)
    path: tuple[str, ...] = getattr(inner, "attribute", ())
    if operator is None or len(path) != 1:
        return Condition("", "is null")
    if operator in ("is null", "is not null"):
        return Condition(path[0], operator, (), negated)
    values = inner.value if operator == "in" else (inner.value,)
    if path[0] == "timestamp":
        values = tuple(map(_microseconds, values))
    return Condition(path[0], operator, tuple(values), negated)


def _microseconds(value: Any) -> Value:
    """A value of another kind stays as it is, and its condition is left to Spark."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return (value - _EPOCH) // timedelta(microseconds=1)
    found: Value = value
    return found
