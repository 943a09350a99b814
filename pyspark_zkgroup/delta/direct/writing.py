"""A task: Arrow batches of records become Parquet files and rows that describe them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc

from pyspark_zkgroup.delta.direct import descriptions
from pyspark_zkgroup.delta.direct.files import Files, Values
from pyspark_zkgroup.delta.direct.rules import Log, ReadRange, WrittenFile
from pyspark_zkgroup.delta.direct.target import HIDDEN_OFFSET, OFFSET, PartitionColumn, Target
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.schema import arrow_schema, arrow_type

_FIRST, _LAST = pa.scalar(date.min), pa.scalar(date.max)


@dataclass(frozen=True, slots=True)
class IntoFiles:
    """What a task of the source makes of its batches."""

    target: Target

    def __call__(
        self, task: TaskInput, settings: FetchSettings, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        ids = {r.partition: r.mark.topic_id for r in task.ranges}
        files = Files(self.target)
        written: list[WrittenFile] = []
        storage, where = self.target.storage, self.target.directory
        for whole in batches:
            for part in of_one_partition(whole):
                at = part["topic"][0].as_py(), part["partition"][0].as_py()
                log = Log(*at, ids[at])  # type: ignore[index]
                for values, rows in shared_out(part, self.target):
                    with storage.guarded(where):
                        written += files.add(log, values, rows)
        with storage.guarded(where):
            written += files.finish()
        read = [ReadRange(Log(*r.partition, r.mark.topic_id), r.range) for r in task.ranges]
        yield descriptions.batch(read, written, settings.bootstrap)


def of_one_partition(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Return the batch in pieces whose records are of one Kafka partition each."""
    if batch.num_rows == 0:
        return
    here, next_ = batch.slice(0, batch.num_rows - 1), batch.slice(1)
    changes = pc.or_(
        pc.not_equal(here["partition"], next_["partition"]),
        pc.not_equal(here["topic"], next_["topic"]),
    )
    starts = [0, *(at + 1 for at in pc.indices_nonzero(changes).to_pylist()), batch.num_rows]
    for start, until in itertools.pairwise(starts):
        yield batch.slice(start, until - start)


def shared_out(part: pa.RecordBatch, target: Target) -> Iterator[tuple[Values, pa.RecordBatch]]:
    """Return the rows of each partition of the table, with the columns of its files."""
    rows = _file_rows(part, target)
    arrays = [(one.name, _text(one, part)) for one in target.partition_by]
    parts = [(rows, arrays)]
    for number in range(len(arrays)):
        parts = [piece for one in parts for piece in _by_value(*one, number)]
    for some, texts in parts:
        yield tuple((name, text[0].as_py()) for name, text in texts), some


_Texts = list[tuple[str, pa.Array]]


def _by_value(
    rows: pa.RecordBatch, texts: _Texts, number: int
) -> Iterator[tuple[pa.RecordBatch, _Texts]]:
    column = texts[number][1]
    values = pc.unique(column)
    if len(values) == 1:
        yield rows, texts
        return
    for value in values:
        same = pc.equal(column, value) if value.is_valid else pc.is_null(column)
        yield rows.filter(same), [(name, text.filter(same)) for name, text in texts]


def _text(column: PartitionColumn, part: pa.RecordBatch) -> pa.Array:
    """As the log has partition values. Delta takes the empty text for null. A date that not every
    reader can parse is null too: delta-rs could no longer open the table.
    """
    first, *path = column.source
    array = part[first]
    for field in path:
        array = pc.struct_field(array, field)
    if column.is_day:
        array = array.cast(pa.timestamp("us")).cast(pa.date32(), safe=False)
    if pa.types.is_date32(array.type):
        is_told = pc.and_(pc.greater_equal(array, _FIRST), pc.less_equal(array, _LAST))
        array = pc.if_else(is_told, array, pa.scalar(None, pa.date32()))
    text = array.cast(pa.string())
    return pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)


def _file_rows(part: pa.RecordBatch, target: Target) -> pa.RecordBatch:
    arrays = []
    for column in target.file_columns:
        if column.name == HIDDEN_OFFSET:
            arrays.append(part[OFFSET])
        elif target.epoch is not None and column.name == target.epoch_column:
            kind = arrow_type(column.type)
            arrays.append(pa.repeat(pa.scalar(target.epoch, kind), part.num_rows))
        else:
            arrays.append(part[column.name])
    return pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(target.file_columns))
