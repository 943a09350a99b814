"""The native decoder, written in Rust.

It reads record batches of magic 2. Old message sets, and batches that it cannot decompress, are
decoded by the reference decoder, batch by batch. So both report damage alike, and their rows are
equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.records.damage import damage
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import COLUMNS, Column, arrow_schema

_INTERFACE = 5
if getattr(_decoder, "INTERFACE", 1) != _INTERFACE:
    raise ImportError(f"{_decoder.__file__} was built from other sources")


class NativeDecoder:
    """See `Decoder`."""

    def __init__(self, limits: Limits, columns: tuple[Column, ...] = COLUMNS) -> None:
        names = [column.name for column in columns]
        self._native = _decoder.Decoder(
            limits.rows_max, limits.bytes_max, limits.unpacked_bytes_max, names
        )
        self._schema = arrow_schema(columns)
        # Rows that wait in the reference decoder are always older than those in the native one.
        self._reference = ReferenceDecoder(limits, columns)
        self.referred = 0
        """How many pieces the reference decoder read; tests check which decoder did the work."""

    def feed(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        data: memoryview,
        aborted: Sequence[AbortedTransaction] = (),
    ) -> Iterator[pa.RecordBatch]:
        if not len(data):
            return
        source, at = _bytes(data)
        self._native.open(
            source,
            at,
            at + len(data),
            partition.topic,
            partition.partition,
            wanted.start,
            wanted.until,
            [(one.producer_id, one.first_offset) for one in aborted],
        )
        while (step := self._step(partition)) is not None:
            if isinstance(step, _decoder.Batch):
                yield from self._reference.finish()
                yield self._to_arrow(step)
                continue
            if self._native.rows:
                yield from self.finish()
            self.referred += 1
            begin, end = step
            piece = memoryview(source)[begin:end]
            yield from self._reference.feed(partition, wanted, piece)

    def finish(self) -> Iterator[pa.RecordBatch]:
        yield from self._reference.finish()
        if self._native.rows:
            yield self._to_arrow(self._native.take())

    def _to_arrow(self, found: _decoder.Batch) -> pa.RecordBatch:
        arrays = [
            to_array(field.type, column)
            for field, column in zip(self._schema, found.columns, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _step(self, partition: TopicPartition) -> _decoder.Batch | tuple[int, int] | None:
        try:
            return self._native.step()
        except _decoder.DamagedError as error:
            reason, offset = error.args
            raise damage(partition, offset, reason) from None


def _bytes(data: memoryview) -> tuple[bytes, int]:
    """Return an object that cannot change while it is read without Python's lock, and the offset of
    the data in it. The data is not copied if it is a part of such an object already.
    """
    whole = data.obj
    if isinstance(whole, bytes) and data.contiguous:
        return whole, pa.py_buffer(data).address - pa.py_buffer(whole).address
    return bytes(data), 0


def to_array(kind: pa.DataType, found: _decoder.Array) -> pa.Array:
    return pa.Array.from_buffers(
        kind,
        found.length,
        [None if buffer is None else pa.py_buffer(buffer) for buffer in found.buffers],
        found.nulls,
        children=[to_array(kind.field(at).type, child) for at, child in enumerate(found.children)],
    )
