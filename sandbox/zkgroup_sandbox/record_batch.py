"""Writes Kafka record batches (format 2, uncompressed), fast enough for bulk production.

Written apart from the package's decoders on purpose: what these tests' events are made of must not
share a mistake with the code under test.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import google_crc32c

# baseOffset, length, leader epoch, magic, crc | attributes, last offset delta, first and last
# timestamp, producer id, producer epoch, first sequence number, number of records
BEFORE_CRC = struct.Struct(">qiibI")
AFTER_CRC = struct.Struct(">hiqqqhii")
MAGIC = 2
LENGTH_COUNTS_FROM = 12  # after baseOffset and length
NULL = b"\x01"  # -1 as a variable-length number

Event = tuple[bytes | None, bytes | None]  # key, value


def encode_batch(
    events: Sequence[Event],
    *,
    timestamp_ms: int,
    producer_id: int = -1,
    producer_epoch: int = -1,
    first_sequence: int = -1,
) -> bytes:
    """All events with one timestamp; the broker sets their offsets."""
    parts: list[bytes] = []
    for delta, (key, value) in enumerate(events):
        body = b"".join((b"\x00\x00", _varint(delta), _sized(key), _sized(value), b"\x00"))
        parts += (_varint(len(body)), body)
    records = b"".join(parts)
    after = AFTER_CRC.pack(
        0,
        len(events) - 1,
        timestamp_ms,
        timestamp_ms,
        producer_id,
        producer_epoch,
        first_sequence,
        len(events),
    )
    length = BEFORE_CRC.size - LENGTH_COUNTS_FROM + len(after) + len(records)
    before = BEFORE_CRC.pack(0, length, 0, MAGIC, google_crc32c.value(after + records))
    return before + after + records


def _encode_varint(number: int) -> bytes:
    zigzag = number << 1  # never negative here
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)


_SHORT = [_encode_varint(n) for n in range(8192)]


def _varint(number: int) -> bytes:
    return _SHORT[number] if number < len(_SHORT) else _encode_varint(number)


def _sized(data: bytes | None) -> bytes:
    return NULL if data is None else _varint(len(data)) + data
