"""Writes Parquet files from Arrow batches; memory does not grow with the files."""

from __future__ import annotations

import re
import uuid
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq

from pyspark_zkgroup.delta.direct.rules import Log, WrittenFile
from pyspark_zkgroup.delta.direct.statistics import INDEXED_COLUMNS, statistics
from pyspark_zkgroup.delta.direct.storage import files_in
from pyspark_zkgroup.delta.direct.target import Target
from pyspark_zkgroup.schema import arrow_schema

ROW_GROUP_BYTES = 32 * 2**20
BUFFERED_BYTES = 96 * 2**20
OPEN_FILES = 64
DIRECTORY_CHARACTERS = 60
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")
_PLAIN = ("value", "offset", "timestamp", "_zkgroup_offset")

Values = tuple[tuple[str, str | None], ...]


@dataclass(slots=True)
class _OpenFile:
    """Writes the file of one log and one set of partition values. Batches wait until they make a
    row group.
    """

    path: str
    log: Log
    values: Values
    sink: pa.NativeFile
    writer: pq.ParquetWriter
    metadata: list[pq.FileMetaData]
    first: int = -1
    last: int = -1
    rows: int = 0
    waiting: list[pa.RecordBatch] = field(default_factory=list)
    waiting_bytes: int = 0


class Files:
    """The files of one task. A task that fails leaves files that no commit names: VACUUM removes
    them.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._places = files_in(target.directory, target.storage)
        self._schema = arrow_schema(target.file_columns)
        self._open: OrderedDict[tuple[Log, Values], _OpenFile] = OrderedDict()
        self._waiting_bytes = 0

    def add(self, log: Log, values: Values, rows: pa.RecordBatch) -> Iterator[WrittenFile]:
        """Take rows in the order of their offsets; return the files that have become full."""
        key = (log, values)
        file = self._open.get(key)
        if file is None:
            if len(self._open) >= OPEN_FILES:
                yield self._closed(next(iter(self._open)))
            file = self._open[key] = self._opened(log, values)
        self._open.move_to_end(key)
        offsets = rows.column(self._target.offset_column)
        if file.first < 0:
            file.first = offsets[0].as_py()
        file.last = offsets[-1].as_py()
        file.rows += rows.num_rows
        file.waiting.append(rows)
        size = rows.nbytes
        file.waiting_bytes += size
        self._waiting_bytes += size
        if file.waiting_bytes >= ROW_GROUP_BYTES:
            self._flush(file)
        while self._waiting_bytes >= BUFFERED_BYTES:
            self._flush(max(self._open.values(), key=lambda one: one.waiting_bytes))
        if file.sink.tell() >= self._target.file_bytes:
            yield self._closed(key)

    def finish(self) -> Iterator[WrittenFile]:
        while self._open:
            yield self._closed(next(iter(self._open)))

    def _opened(self, log: Log, values: Values) -> _OpenFile:
        path = "/".join(
            [*(directory_of(name, value) for name, value in values), f"{_name()}.parquet"]
        )
        sink = self._places.create(path)
        metadata: list[pq.FileMetaData] = []
        paths = (".".join(names) for names in _leaves((), self._schema))
        writer = pq.ParquetWriter(
            sink,
            self._schema,
            metadata_collector=metadata,
            compression="snappy",
            use_dictionary=[one for one in paths if one not in _PLAIN],
            write_statistics=list(self._target.statistics),
        )
        return _OpenFile(path, log, values, sink, writer, metadata)

    def _flush(self, file: _OpenFile) -> None:
        if file.waiting:
            table = pa.Table.from_batches(file.waiting, self._schema)
            file.writer.write_table(table, row_group_size=max(1, table.num_rows))
            self._waiting_bytes -= file.waiting_bytes
            file.waiting, file.waiting_bytes = [], 0

    def _closed(self, key: tuple[Log, Values]) -> WrittenFile:
        file = self._open.pop(key)
        self._flush(file)
        file.writer.close()
        size = file.sink.tell()
        file.sink.close()
        return WrittenFile(
            path=file.path,
            log=file.log,
            first=file.first,
            last=file.last,
            rows=file.rows,
            bytes=size,
            partition_values=file.values,
            stats=statistics(file.metadata[0], self._target.statistics),
        )


def indexed(schema: pa.Schema) -> tuple[str, ...]:
    """Return the paths of the columns that files have statistics of: the first ones, but none with
    a dot in a name, which Delta's nested statistics would take for a field of a struct.
    """
    first = list(_leaves((), schema))[:INDEXED_COLUMNS]
    return tuple(".".join(names) for names in first if not any("." in name for name in names))


def _leaves(above: tuple[str, ...], fields: Iterable[pa.Field]) -> Iterator[tuple[str, ...]]:
    """Return the names on the way to each column that Parquet stores, also within structs."""
    for one in fields:
        names = (*above, one.name)
        if pa.types.is_struct(one.type):
            yield from _leaves(names, one.type)
        elif not pa.types.is_nested(one.type):
            yield names


def _name() -> str:
    return f"part-{uuid.uuid4()}"


def directory_of(name: str, value: str | None) -> str:
    """For people who look into the directory: readers take the value from the log, where a path is
    a part of a URL, so it has nothing to escape.
    """
    shown = _UNSAFE.sub("_", "null" if value is None else value)[:DIRECTORY_CHARACTERS]
    return f"{_UNSAFE.sub('_', name)}={shown}"
