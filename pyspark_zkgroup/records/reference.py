"""The reference decoder: slow, plain, and what every faster one has to agree with.

Old messages are parsed by kafka-python's own classes. What is compressed is unpacked here, under a
limit, and handed to them as the same message without compression, so that none of the packages they
would ask for is needed. The checksum is compared first, over the bytes as they came.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import google_crc32c
import pyarrow as pa
from kafka.errors import CorruptRecordError
from kafka.record.legacy_records import LegacyRecordBatch

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.damage import DamagedError, damage
from pyspark_zkgroup.records.decoder import COLUMN_BYTES_MAX, Limits
from pyspark_zkgroup.records.java_text import java_text
from pyspark_zkgroup.records.record_batch import (
    ATTRIBUTES_AT,
    CODEC_MASK,
    CRC_AT,
    RECORDS_AT,
    Record,
    head,
    headers,
    records,
)
from pyspark_zkgroup.records.rows import TIMESTAMP_MS_MAX, Headers, Rows, headers_bytes
from pyspark_zkgroup.records.transactions import Aborted
from pyspark_zkgroup.records.unpack import LZ4, UnpackError, unpack, unpack_old_lz4
from pyspark_zkgroup.schema import COLUMNS, LOG_APPEND_TIME, NO_TIMESTAMP_TYPE, Column

_OVERHEAD = 12  # offset and length, which the length does not count
_LENGTH_AT = 8
_MAGIC_AT = 16
_SIZE_MIN = (26, 34, 61)  # by magic

# magic 0 and 1
_OLD_ATTRIBUTES_AT = 17
_NO_TIMESTAMP_MS = -1

_OFFSET_MAX = 2**63 - 1

# What kafka-python lets through when bytes lie to it.
_DAMAGED = (
    CorruptRecordError,
    UnpackError,
    AssertionError,
    IndexError,
    OverflowError,
    ValueError,
    struct.error,
)


class ReferenceDecoder:
    """See `Decoder`."""

    def __init__(self, limits: Limits, columns: tuple[Column, ...] = COLUMNS) -> None:
        self._limits = limits
        self._columns = columns
        self._asked = {column.name for column in columns}
        self._rows = Rows(columns)

    def feed(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        data: memoryview,
        aborted: Sequence[AbortedTransaction] = (),
    ) -> Iterator[pa.RecordBatch]:
        at = 0
        offset = wanted.start
        transactions = Aborted(aborted)
        try:
            while at < len(data):
                frame = _frame(data, at)
                at += len(frame)
                (offset,) = struct.unpack_from(">q", frame)
                if frame[_MAGIC_AT] == 2:
                    yield from self._batch(partition, wanted, frame, transactions)
                else:
                    yield from self._old_message(partition, wanted, frame)
        except (DamagedError, *_DAMAGED) as error:
            raise damage(partition, offset, error) from None

    def finish(self) -> Iterator[pa.RecordBatch]:
        if len(self._rows):
            yield self._take()

    def _batch(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        frame: memoryview,
        transactions: Aborted,
    ) -> Iterator[pa.RecordBatch]:
        (crc,) = struct.unpack_from(">I", frame, CRC_AT)
        if google_crc32c.value(bytes(frame[ATTRIBUTES_AT:])) != crc:
            raise DamagedError("its checksum does not fit")
        batch = head(frame)
        data = bytes(frame[RECORDS_AT:])
        if transactions.leaves_out(batch, data) or batch.is_control:
            return
        if batch.codec and data:
            data = unpack(batch.codec, memoryview(data), self._limits.unpacked_bytes_max)
        found = records(batch, data)
        yield from self._add(partition, wanted, found, batch.offsets, batch.timestamp_type)

    def _old_message(
        self, partition: TopicPartition, wanted: OffsetRange, frame: memoryview
    ) -> Iterator[pa.RecordBatch]:
        message = LegacyRecordBatch(frame, frame[_MAGIC_AT])
        if not message.validate_crc():
            raise DamagedError("its checksum does not fit")
        records = [_old_record(frame)]
        if message.compression_type:
            records = _packed_records(message, records[0], self._limits.unpacked_bytes_max)
        kind = NO_TIMESTAMP_TYPE if message.magic == 0 else message.timestamp_type
        offsets = range(message.base_offset + 1)
        yield from self._add(partition, wanted, records, offsets, kind)

    def _add(
        self,
        partition: TopicPartition,
        wanted: OffsetRange,
        records: Iterable[Record],
        offsets: range,
        timestamp_type: int,
    ) -> Iterator[pa.RecordBatch]:
        """`offsets` is what the batch claims to hold. Every record is looked at, also those that
        are not wanted.
        """
        expected = offsets.start
        topic_bytes = len(partition.topic.encode()) if "topic" in self._asked else 0
        for record in records:
            if not expected <= record.offset < min(offsets.stop, _OFFSET_MAX + 1):
                raise DamagedError(f"it holds a record with offset {record.offset}")
            if abs(record.timestamp_ms) > TIMESTAMP_MS_MAX:
                raise DamagedError(f"it holds a record of the time {record.timestamp_ms} ms")
            expected = record.offset + 1
            if not wanted.start <= record.offset < wanted.until:
                continue
            found = self._headers(record)
            record = self._pruned(record)
            size = len(record.key or b"") + len(record.value or b"") + headers_bytes(found)
            if not self._has_room(size, topic_bytes):
                self._rows.fill(partition, timestamp_type)
                yield self._take()
            self._rows.append(record, found or None, size, topic_bytes)
        self._rows.fill(partition, timestamp_type)

    def _pruned(self, record: Record) -> Record:
        """Without the key or the value that is not asked for."""
        if {"key", "value"} <= self._asked:
            return record
        return replace(
            record,
            key=record.key if "key" in self._asked else None,
            value=record.value if "value" in self._asked else None,
        )

    def _headers(self, record: Record) -> Headers:
        if "headers" not in self._asked:
            return []
        size_max = min(self._limits.unpacked_bytes_max, COLUMN_BYTES_MAX)
        found: Headers = []
        size = 0
        for key, value in headers(record):
            found.append((java_text(key), value))
            size += headers_bytes(found[-1:])
            if size > size_max:
                raise DamagedError(f"the headers of a record in it take more than {size_max} bytes")
        return found

    def _has_room(self, size: int, topic_bytes: int) -> bool:
        rows, limits = self._rows, self._limits
        return not len(rows) or (
            len(rows) < limits.rows_max
            and rows.bytes + size <= min(limits.bytes_max, COLUMN_BYTES_MAX)
            and rows.topic_bytes + topic_bytes <= COLUMN_BYTES_MAX
        )

    def _take(self) -> pa.RecordBatch:
        rows, self._rows = self._rows, Rows(self._columns)
        return rows.to_arrow()


def _frame(data: memoryview, at: int) -> memoryview:
    """One record batch, or one old message, of a whole set."""
    if len(data) - at <= _MAGIC_AT:
        raise DamagedError(f"it ends after {len(data) - at} bytes, within the head")
    (length,) = struct.unpack_from(">i", data, at + _LENGTH_AT)
    magic = data[at + _MAGIC_AT]
    if magic >= len(_SIZE_MIN):
        raise DamagedError(f"its format {magic} is unknown")
    size = _OVERHEAD + length
    if not _SIZE_MIN[magic] <= size <= len(data) - at:
        raise DamagedError(f"it claims {size} bytes where {len(data) - at} are left")
    return data[at : at + size]


def _old_record(frame: memoryview) -> Record:
    """One message, with a value that is still packed if it is one of several. Its checksum is not
    looked at.
    """
    magic = frame[_MAGIC_AT]
    at = _SIZE_MIN[magic] - 8
    for _ in ("key", "value"):
        (size,) = struct.unpack_from(">i", frame, at)
        if not -1 <= size <= len(frame):
            raise DamagedError(f"it holds a key or a value of {size} bytes")
        at += 4 + max(0, size)
    if at != len(frame):
        raise DamagedError(f"its key and value end at byte {at}, not at {len(frame)}")
    plain = bytearray(frame)
    plain[_OLD_ATTRIBUTES_AT] &= ~CODEC_MASK
    (record,) = LegacyRecordBatch(plain, magic)
    timestamp_ms = _NO_TIMESTAMP_MS if record.timestamp is None else record.timestamp
    return Record(record.offset, timestamp_ms, record.key, record.value)


def _packed_records(
    message: LegacyRecordBatch, outer: Record, unpacked_bytes_max: int
) -> list[Record]:
    packed = outer.value
    if packed is None:
        raise DamagedError("a compressed message holds nothing")
    if message.magic == 0 and message.compression_type == LZ4:
        data = memoryview(unpack_old_lz4(memoryview(packed), unpacked_bytes_max))
    else:
        data = memoryview(unpack(message.compression_type, memoryview(packed), unpacked_bytes_max))
    records: list[Record] = []
    at = 0
    while at < len(data):
        frame = _frame(data, at)
        at += len(frame)
        inner = LegacyRecordBatch(frame, frame[_MAGIC_AT])
        if inner.magic != message.magic or inner.compression_type:
            raise DamagedError("a compressed message holds one of another kind")
        if not inner.validate_crc():
            raise DamagedError("the checksum of a message in it does not fit")
        records.append(_old_record(frame))
    if message.magic == 0 or not records:
        return records
    # Inner offsets count from 0 and the outer one is that of the last. A broker that set the time
    # set it outside only.
    shift = outer.offset - records[-1].offset
    is_append_time = message.timestamp_type == LOG_APPEND_TIME
    return [
        replace(
            record,
            offset=record.offset + shift,
            timestamp_ms=outer.timestamp_ms if is_append_time else record.timestamp_ms,
        )
        for record in records
    ]
