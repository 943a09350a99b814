"""A record batch of magic 2, as Kafka's own client takes it apart.

Numbers of records have as many bits as there (32; the time 64), and a number that is longer is
damage. What the client does not look at is not looked at here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark_zkgroup.records.damage import DamagedError
from pyspark_zkgroup.schema import CREATE_TIME, LOG_APPEND_TIME

CRC_AT = 17
ATTRIBUTES_AT = 21
RECORDS_AT = 61
# base offset, length, leader epoch, magic, crc, attributes, last offset delta, first and max
# timestamp, producer id, producer epoch, base sequence, count
_HEAD = struct.Struct(">qiibIhiqqqhii")

CODEC_MASK = 0x07
_APPEND_TIME_BIT, _TRANSACTIONAL_BIT, _CONTROL_BIT = 0x08, 0x10, 0x20
_NO_PRODUCER_ID = -1

_ABORT = 0
_MARKER = struct.Struct(">hh")  # version and type; newer versions may be longer


@dataclass(frozen=True, slots=True)
class Head:
    base_offset: int
    attributes: int
    last_offset_delta: int
    first_timestamp_ms: int
    max_timestamp_ms: int
    producer_id: int
    count: int

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL_BIT)

    @property
    def has_producer(self) -> bool:
        return self.producer_id > _NO_PRODUCER_ID

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL_BIT)

    @property
    def timestamp_type(self) -> int:
        return LOG_APPEND_TIME if self.attributes & _APPEND_TIME_BIT else CREATE_TIME

    @property
    def offsets(self) -> range:
        """What the batch claims to hold."""
        return range(self.base_offset, self.last_offset + 1)

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta


@dataclass(frozen=True, slots=True)
class Record:
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: bytes = b""
    """As they came; see `headers`. Empty if there are none."""


def head(frame: memoryview) -> Head:
    """Of a whole frame; its checksum is not looked at."""
    base, _, _, _, _, attributes, last, first_ms, max_ms, producer, _, _, count = _HEAD.unpack_from(
        frame
    )
    return Head(base, attributes, last, first_ms, max_ms, producer, count)


def records(head: Head, data: bytes) -> Iterator[Record]:
    """`data` is what follows the head, unpacked."""
    at = 0
    for _ in range(head.count):
        record, at = _record(head, data, at)
        yield record
    if at != len(data):
        raise DamagedError(f"{len(data) - at} bytes in it follow its last record")


def headers(record: Record) -> Iterator[tuple[bytes, bytes | None]]:
    """Their keys need not be text. One by one: there may be more of them than memory."""
    at = 0
    while at < len(record.headers):
        key, at = _nullable(record.headers, at)
        value, at = _nullable(record.headers, at)
        yield key or b"", value


def is_abort_marker(head: Head, data: bytes) -> bool:
    """Whether this control batch ends a transaction without effect."""
    if head.count <= 0:
        return False  # compaction has emptied it
    if head.codec:
        raise DamagedError("the marker of a transaction in it is compressed")
    record, _ = _record(head, data, 0)
    if record.key is None or len(record.key) < _MARKER.size:
        raise DamagedError("a control record in it has no type")
    version, kind = _MARKER.unpack_from(record.key)
    if version < 0:
        raise DamagedError(f"a control record in it has the version {version}")
    return bool(kind == _ABORT)


def _record(head: Head, data: bytes, at: int) -> tuple[Record, int]:
    size, at = _number(data, at, 32)
    end = at + size
    at += 1  # attributes, of which there are none
    timestamp_delta, at = _number(data, at, 64)
    offset_delta, at = _number(data, at, 32)
    key, at = _nullable(data, at)
    value, at = _nullable(data, at)
    header_count, headers_at = _number(data, at, 32)
    at = _behind_headers(data, headers_at, header_count)
    if at != end:
        raise DamagedError("a record in it does not end where it says")
    is_append_time = head.timestamp_type == LOG_APPEND_TIME
    timestamp_ms = head.first_timestamp_ms + timestamp_delta
    return (
        Record(
            head.base_offset + offset_delta,
            head.max_timestamp_ms if is_append_time else timestamp_ms,
            key,
            value,
            data[headers_at:at],
        ),
        at,
    )


def _behind_headers(data: bytes, at: int, count: int) -> int:
    if count < 0:
        raise DamagedError(f"a record in it has {count} headers")
    for _ in range(count):
        key, at = _nullable(data, at)
        if key is None:
            raise DamagedError("a header in it has no key")
        _, at = _nullable(data, at)
    return at


def _nullable(data: bytes, at: int) -> tuple[bytes | None, int]:
    """Bytes behind their length; below 0 it means null."""
    size, at = _number(data, at, 32)
    if size < 0:
        return None, at
    if size > len(data) - at:
        raise DamagedError(f"{size} bytes of a record where {len(data) - at} are left")
    return data[at : at + size], at + size


def _number(data: bytes, at: int, bits: int) -> tuple[int, int]:
    """Seven bits to a byte, the lowest first; 0, -1, 1, -2 are written as 0, 1, 2, 3. Bits that do
    not fit are dropped, as Kafka's client drops them; bytes that do not fit are damage.
    """
    folded = 0
    for shift in range(0, bits, 7):
        if at >= len(data):
            raise DamagedError("a number in it does not end")
        byte = data[at]
        at += 1
        folded |= (byte & 0x7F) << shift
        if byte < 0x80:
            folded &= (1 << bits) - 1
            return (folded >> 1) ^ -(folded & 1), at
    raise DamagedError(f"a number in it has more than {bits} bits")
