"""The reference decoder: slow, plain, and what every faster one has to agree with.

Records are parsed by kafka-python's own classes. What is compressed is unpacked here, under a
limit, and handed to them as the same batch without compression, so that none of the packages they
would ask for is needed. The checksum is compared first, over the bytes as they came.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

import google_crc32c
import pyarrow as pa
from kafka.errors import CorruptRecordError
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.legacy_records import LegacyRecordBatch

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.damage import damage
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.rows import TIMESTAMP_MS_MAX, Rows
from pyspark_zkgroup.records.unpack import LZ4, UnpackError, unpack, unpack_old_lz4
from pyspark_zkgroup.schema import LOG_APPEND_TIME, NO_TIMESTAMP_TYPE

_OVERHEAD = 12  # offset and length, which the length does not count
_LENGTH_AT = 8
_MAGIC_AT = 16
_SIZE_MIN = (26, 34, 61)  # by magic

# magic 2
_CRC_AT = 17
_ATTRIBUTES_AT = 21
_RECORDS_AT = 61

# magic 0 and 1
_OLD_ATTRIBUTES_AT = 17
_NO_TIMESTAMP_MS = -1

_CODEC_MASK = 0x07

_Record = tuple[int, int, bytes | None, bytes | None]
"""Offset, timestamp in milliseconds, key, value."""

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


class DamagedError(Exception):
    """A record batch is not what a broker keeps; the text says why."""


class ReferenceDecoder:
    """See `Decoder`."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._rows = Rows()

    def feed(
        self, partition: TopicPartition, wanted: OffsetRange, data: memoryview
    ) -> Iterator[pa.RecordBatch]:
        at = 0
        offset = wanted.start
        try:
            while at < len(data):
                frame = _frame(data, at)
                at += len(frame)
                (offset,) = struct.unpack_from(">q", frame)
                if frame[_MAGIC_AT] == 2:
                    yield from self._batch(partition, wanted, frame)
                else:
                    yield from self._old_message(partition, wanted, frame)
        except (DamagedError, *_DAMAGED) as error:
            raise damage(partition, offset, error) from None

    def finish(self) -> Iterator[pa.RecordBatch]:
        if len(self._rows):
            yield self._take()

    def _batch(
        self, partition: TopicPartition, wanted: OffsetRange, frame: memoryview
    ) -> Iterator[pa.RecordBatch]:
        (crc,) = struct.unpack_from(">I", frame, _CRC_AT)
        if google_crc32c.value(bytes(frame[_ATTRIBUTES_AT:])) != crc:
            raise DamagedError("its checksum does not fit")
        batch = DefaultRecordBatch(frame)
        if batch.is_control_batch:
            return
        if batch.compression_type:
            plain = bytearray(frame[:_RECORDS_AT])
            plain[_ATTRIBUTES_AT + 1] &= ~_CODEC_MASK
            if len(frame) > _RECORDS_AT:
                limit = self._limits.unpacked_bytes_max
                plain += unpack(batch.compression_type, frame[_RECORDS_AT:], limit)
            batch = DefaultRecordBatch(plain)
        records = ((r.offset, r.timestamp, r.key, r.value) for r in batch)
        offsets = range(batch.base_offset, batch.last_offset + 1)
        yield from self._add(partition, wanted, records, offsets, batch.timestamp_type)

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
        records: Iterable[_Record],
        offsets: range,
        timestamp_type: int,
    ) -> Iterator[pa.RecordBatch]:
        """`offsets` is what the batch claims to hold. Every record is looked at, also those that
        are not wanted.
        """
        rows, limits = self._rows, self._limits
        expected = offsets.start
        for offset, timestamp_ms, key, value in records:
            if not expected <= offset < offsets.stop:
                raise DamagedError(f"it holds a record with offset {offset}")
            if abs(timestamp_ms) > TIMESTAMP_MS_MAX:
                raise DamagedError(f"it holds a record of the time {timestamp_ms} ms")
            expected = offset + 1
            if not wanted.start <= offset < wanted.until:
                continue
            size = len(key or b"") + len(value or b"")
            count = len(rows.offsets)
            if count >= limits.rows_max or (count and rows.bytes + size > limits.bytes_max):
                rows.fill(partition, timestamp_type)
                yield self._take()
                rows = self._rows
            rows.keys.append(key)
            rows.values.append(value)
            rows.offsets.append(offset)
            rows.timestamps_ms.append(timestamp_ms)
            rows.bytes += size
        rows.fill(partition, timestamp_type)

    def _take(self) -> pa.RecordBatch:
        rows, self._rows = self._rows, Rows()
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


def _old_record(frame: memoryview) -> _Record:
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
    plain[_OLD_ATTRIBUTES_AT] &= ~_CODEC_MASK
    (record,) = LegacyRecordBatch(plain, magic)
    timestamp_ms = _NO_TIMESTAMP_MS if record.timestamp is None else record.timestamp
    return record.offset, timestamp_ms, record.key, record.value


def _packed_records(
    message: LegacyRecordBatch, outer: _Record, unpacked_bytes_max: int
) -> list[_Record]:
    outer_offset, outer_timestamp_ms, _, packed = outer
    if packed is None:
        raise DamagedError("a compressed message holds nothing")
    if message.magic == 0 and message.compression_type == LZ4:
        data = memoryview(unpack_old_lz4(memoryview(packed), unpacked_bytes_max))
    else:
        data = memoryview(unpack(message.compression_type, memoryview(packed), unpacked_bytes_max))
    records: list[_Record] = []
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
    shift = outer_offset - records[-1][0]
    is_append_time = message.timestamp_type == LOG_APPEND_TIME
    return [
        (offset + shift, outer_timestamp_ms if is_append_time else timestamp_ms, key, value)
        for offset, timestamp_ms, key, value in records
    ]
