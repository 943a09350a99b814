"""Record batches as bytes, of every form a broker may keep.

Built with kafka-python's builders, then packed and sealed here, so that a test can also build what
no producer would.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import google_crc32c
import pyarrow as pa
from kafka.record.default_records import DefaultRecordBatchBuilder
from kafka.record.legacy_records import LegacyRecordBatchBuilder
from kafka.record.util import calc_crc32

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
CODECS = {"none": NONE, "gzip": GZIP, "snappy": SNAPPY, "lz4": LZ4, "zstd": ZSTD}

APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT = 0x08, 0x10, 0x20
_BATCH_HEAD = 61
_ATTRIBUTES_AT = 21


@dataclass(frozen=True)
class Record:
    offset: int
    key: bytes | None = b"k"
    value: bytes | None = b"v"
    timestamp_ms: int = 1_700_000_000_123
    headers: Sequence[tuple[str | bytes, bytes | None]] = field(default_factory=list)
    """A key that is bytes need not be text."""


def compress(codec: int, data: bytes, *, xerial: bool = True) -> bytes:
    if codec == NONE:
        return data
    if codec == SNAPPY and xerial:
        # Two blocks, as Java's stream writes more than 32 KiB.
        half = len(data) // 2
        blocks = [
            pa.compress(part, codec="snappy", asbytes=True) for part in (data[:half], data[half:])
        ]
        head = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
        return head + b"".join(struct.pack(">i", len(block)) + block for block in blocks)
    name = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}[codec]
    packed: bytes = pa.compress(data, codec=name, asbytes=True)
    return packed


def batch(
    records: Sequence[Record],
    *,
    codec: int = NONE,
    attributes: int = 0,
    base_offset: int | None = None,
    last_offset: int | None = None,
    max_timestamp_ms: int | None = None,
    packed: bytes | None = None,
    producer_id: int = -1,
) -> bytes:
    """A batch of magic 2. `packed` replaces the compressed records."""
    base = records[0].offset if base_offset is None else base_offset
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 30,
    )
    for r in records:
        headers = [(_Key(key), value) for key, value in r.headers]
        builder.append(r.offset - base, r.timestamp_ms, r.key, r.value, headers)
    plain = builder.build()
    payload = compress(codec, bytes(plain[_BATCH_HEAD:])) if packed is None else packed
    built = bytearray(plain[:_BATCH_HEAD]) + payload
    struct.pack_into(">q", built, 0, base)
    struct.pack_into(">h", built, _ATTRIBUTES_AT, codec | attributes)
    last = (records[-1].offset if records else base) if last_offset is None else last_offset
    struct.pack_into(">i", built, 23, last - base)
    struct.pack_into(">q", built, 43, producer_id)
    if max_timestamp_ms is not None:
        struct.pack_into(">q", built, 35, max_timestamp_ms)
    return seal(built)


class _Key(str):
    """What kafka-python writes as a header's key: text, or bytes as they are."""

    def __new__(cls, key: str | bytes) -> _Key:
        return super().__new__(cls, key if isinstance(key, str) else "")

    def __init__(self, key: str | bytes) -> None:
        self._bytes = key.encode() if isinstance(key, str) else key

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        return self._bytes


def marker(offset: int, producer_id: int, *, aborts: bool = True, version: int = 0) -> bytes:
    """The control batch that ends a transaction."""
    kind = 0 if aborts else 1
    one = Record(offset, struct.pack(">hh", version, kind), struct.pack(">hi", 0, 7))
    return batch([one], attributes=CONTROL_BIT | TRANSACTIONAL_BIT, producer_id=producer_id)


def seal(built: bytearray) -> bytes:
    """Sets length and checksum of a batch of magic 2 to what its bytes are."""
    struct.pack_into(">i", built, 8, len(built) - 12)
    struct.pack_into(">I", built, 17, google_crc32c.value(bytes(built[_ATTRIBUTES_AT:])))
    return bytes(built)


def old_messages(
    records: Sequence[Record], *, magic: int, codec: int = NONE, attributes: int = 0
) -> bytes:
    """A message set of magic 0 or 1; compressed, it is one message that holds the set. In magic 1
    the offsets inside count from 0."""
    first = records[0].offset if codec != NONE and magic == 1 else 0
    plain = b"".join(
        _old_message(magic, r.offset - first, r, attributes if codec == NONE else 0)
        for r in records
    )
    if codec == NONE:
        return plain
    packed = compress(codec, plain)
    if magic == 0 and codec == LZ4:
        packed = _with_old_lz4_checksum(packed)
    newest = max(r.timestamp_ms for r in records)
    outer = Record(records[-1].offset, None, packed, newest)
    return _old_message(magic, outer.offset, outer, codec | attributes)


def _old_message(magic: int, offset: int, record: Record, attributes: int) -> bytes:
    builder = LegacyRecordBatchBuilder(magic=magic, compression_type=0, batch_size=1 << 30)
    builder.append(offset, record.timestamp_ms, record.key, record.value)
    message = bytearray(builder.build())
    message[17] = attributes
    struct.pack_into(">I", message, 12, calc_crc32(memoryview(message)[16:]))
    return bytes(message)


def _with_old_lz4_checksum(frame: bytes) -> bytes:
    """Any other value than the right one: that of the old writers was wrong in another way."""
    at = 14 if frame[4] >> 3 & 1 else 6
    return frame[:at] + bytes([frame[at] ^ 0x5A]) + frame[at + 1 :]
