"""Decompresses the records of a batch, up to a limit of bytes."""

from __future__ import annotations

import struct
from collections.abc import Iterator

import pyarrow as pa

from pyspark_zkgroup.records.xxhash import xxh32_short

GZIP, SNAPPY, LZ4, ZSTD = 1, 2, 3, 4
_NAMES = {GZIP: "gzip", SNAPPY: "snappy", LZ4: "lz4", ZSTD: "zstd"}

# Snappy as Java writes it: this header, two version numbers, then blocks, each after its length.
_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEAD_SIZE = 16

_STEP_MIN = 64 * 1024

_LZ4_FRAME = b"\x04\x22\x4d\x18"


class UnpackError(Exception):
    """The bytes are not in the announced format, or would decompress to too many."""


def unpack(codec: int, data: memoryview, bytes_max: int) -> bytes:
    name = _NAMES.get(codec)
    if name is None:
        raise UnpackError(f"compressed with the unknown codec {codec}")
    if codec == SNAPPY:
        return _snappy(data, bytes_max)
    try:
        return b"".join(_stream(name, data, bytes_max))
    except OSError as error:
        raise UnpackError(f"{name}: {error}") from None


def _stream(name: str, data: memoryview, bytes_max: int) -> Iterator[bytes]:
    # A read allocates all that it asks for before the real size is known.
    step = max(_STEP_MIN, 4 * len(data))
    left = bytes_max
    with pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(data)), name) as stream:
        while piece := stream.read(min(step, left + 1)):
            left -= len(piece)
            if left < 0:
                raise _too_large(name, bytes_max)
            yield piece


def unpack_old_lz4(data: memoryview, bytes_max: int) -> bytes:
    """Decompress LZ4 of messages of magic 0.

    Their writers included the frame's magic number in the checksum of its head. Frames with a
    correct checksum (of some writers) are read unchanged.
    """
    frame = bytearray(data)
    if len(frame) > 7 and bytes(frame[:4]) == _LZ4_FRAME:
        has_content_size = frame[4] >> 3 & 1
        at = 14 if has_content_size else 6
        if len(frame) > at:
            frame[at] = xxh32_short(bytes(frame[4:at])) >> 8 & 0xFF
    return unpack(LZ4, memoryview(frame), bytes_max)


def _snappy(data: memoryview, bytes_max: int) -> bytes:
    if bytes(data[: len(_XERIAL)]) != _XERIAL:
        return _snappy_block(data, bytes_max, bytes_max)
    blocks: list[bytes] = []
    at, left = _XERIAL_HEAD_SIZE, bytes_max
    while at < len(data):
        if len(data) - at < 4:
            raise UnpackError("snappy: it ends within the length of a block")
        (size,) = struct.unpack_from(">i", data, at)
        at += 4
        if not 0 <= size <= len(data) - at:
            raise UnpackError(f"snappy: a block of {size} bytes where {len(data) - at} are left")
        blocks.append(_snappy_block(data[at : at + size], left, bytes_max))
        left -= len(blocks[-1])
        at += size
    return b"".join(blocks)


def _snappy_block(data: memoryview, left: int, bytes_max: int) -> bytes:
    """Decompress a block. It begins with its size, so a false size is found before allocation."""
    size = shift = at = 0
    while True:
        if at >= len(data) or at == 5:
            raise UnpackError("snappy: a block without its size")
        byte = data[at]
        size |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    if size > left:
        raise _too_large("snappy", bytes_max)
    if size == 0:
        return b""
    try:
        unpacked: bytes = pa.decompress(data, decompressed_size=size, codec="snappy", asbytes=True)
    except (OSError, ValueError) as error:
        raise UnpackError(f"snappy: {error}") from None
    return unpacked


def _too_large(name: str, bytes_max: int) -> UnpackError:
    return UnpackError(f"{name}: it unpacks to more than {bytes_max} bytes")
