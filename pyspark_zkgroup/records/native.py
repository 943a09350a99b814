"""The native decoder: written in Rust, and as fast as a task can take it.

It reads record batches of magic 2. Old message sets, and what it cannot unpack, it leaves to the
reference, batch by batch. So both say the same of what is damaged, and their rows are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records import _decoder
from pyspark_zkgroup.records.damage import damage
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import arrow_schema


class NativeDecoder:
    """See `Decoder`."""

    def __init__(self, limits: Limits, *, headers: bool = False) -> None:
        self._native = _decoder.Decoder(
            limits.rows_max, limits.bytes_max, limits.unpacked_bytes_max, headers
        )
        # What it holds back is always older than what the native one does.
        self._reference = ReferenceDecoder(limits, headers=headers)
        self.referred = 0
        """How many pieces went to the reference, for tests to tell who did the work."""

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
            if isinstance(step, _decoder.Buffers):
                yield from self._reference.finish()
                yield _to_arrow(step)
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
            yield _to_arrow(self._native.take())

    def _step(self, partition: TopicPartition) -> _decoder.Buffers | tuple[int, int] | None:
        try:
            return self._native.step()
        except _decoder.DamagedError as error:
            reason, offset = error.args
            raise damage(partition, offset, reason) from None


def _bytes(data: memoryview) -> tuple[bytes, int]:
    """An object that no one can change while it is read without Python's lock, and where in it the
    data begins. Not a copy if the data is a part of one already.
    """
    whole = data.obj
    if isinstance(whole, bytes) and data.contiguous:
        return whole, pa.py_buffer(data).address - pa.py_buffer(whole).address
    return bytes(data), 0


def _to_arrow(found: _decoder.Buffers) -> pa.RecordBatch:
    schema = arrow_schema(found.headers is not None)
    count = found.rows
    keys = [found.key_validity if found.key_nulls else None, found.key_ends, found.key_data]
    values = [
        found.value_validity if found.value_nulls else None,
        found.value_ends,
        found.value_data,
    ]
    columns = [
        (keys, found.key_nulls),
        (values, found.value_nulls),
        ([None, found.topic_ends, found.topic_data], 0),
        ([None, found.partitions], 0),
        ([None, found.offsets], 0),
        ([None, found.timestamps_us], 0),
        ([None, found.timestamp_types], 0),
    ]
    arrays = [
        _array(field.type, count, buffers, nulls)
        for field, (buffers, nulls) in zip(schema, columns, strict=False)
    ]
    if found.headers is not None:
        arrays.append(_headers(schema.field("headers").type, count, found.headers))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _headers(kind: pa.ListType, rows: int, found: _decoder.HeaderBuffers) -> pa.Array:
    header = kind.value_type
    keys = _array(header.field("key").type, found.count, [None, found.key_ends, found.key_data], 0)
    values = _array(
        header.field("value").type,
        found.count,
        [
            found.value_validity if found.value_nulls else None,
            found.value_ends,
            found.value_data,
        ],
        found.value_nulls,
    )
    both = pa.Array.from_buffers(header, found.count, [None], 0, children=[keys, values])
    validity = pa.py_buffer(found.validity) if found.nulls else None
    lists = [validity, pa.py_buffer(found.ends)]
    return pa.Array.from_buffers(kind, rows, lists, found.nulls, children=[both])


def _array(kind: pa.DataType, count: int, buffers: list[bytes | None], nulls: int) -> pa.Array:
    return pa.Array.from_buffers(
        kind,
        count,
        [None if buffer is None else pa.py_buffer(buffer) for buffer in buffers],
        nulls,
    )
