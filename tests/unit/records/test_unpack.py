from __future__ import annotations

import pytest

from pyspark_zkgroup.records.unpack import (
    GZIP,
    LZ4,
    SNAPPY,
    ZSTD,
    UnpackError,
    unpack,
    unpack_old_lz4,
)
from pyspark_zkgroup.records.xxhash import xxh32_short
from tests.harness.record_batches import compress

TEXT = b"the same words, the same words, the same words; " * 40


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_round_trip_up_to_the_very_limit(codec: int) -> None:
    packed = memoryview(compress(codec, TEXT))
    assert unpack(codec, packed, len(TEXT)) == TEXT
    with pytest.raises(UnpackError, match=f"more than {len(TEXT) - 1} bytes"):
        unpack(codec, packed, len(TEXT) - 1)


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_frames_one_after_the_other_are_one_text(codec: int) -> None:
    packed = compress(codec, TEXT) + compress(codec, b"end")
    assert unpack(codec, memoryview(packed), 10_000) == TEXT + b"end"


@pytest.mark.parametrize("codec", [GZIP, LZ4, ZSTD])
def test_what_is_larger_than_one_step_is_read_whole(codec: int) -> None:
    large = bytes(1_000_000)
    assert unpack(codec, memoryview(compress(codec, large)), 1_000_000) == large


@pytest.mark.parametrize(
    ("packed", "match"),
    [
        (b"\xff\xff\xff\xff\xff\x00", "without its size"),
        (b"\x80", "without its size"),
        (b"\x05abc", "snappy"),
        (b"\x82SNAPPY\x00" + bytes(8) + b"\x00\x00\x00\x09abc", "a block of 9 bytes where 3"),
        (b"\x82SNAPPY\x00" + bytes(8) + b"\xff\xff\xff\xffabc", "a block of -1 bytes"),
        (b"\x82SNAPPY\x00" + bytes(8) + b"\x00\x00", "within the length"),
    ],
)
def test_snappy_lengths_are_not_trusted(packed: bytes, match: str) -> None:
    with pytest.raises(UnpackError, match=match):
        unpack(SNAPPY, memoryview(packed), 1000)


def test_a_snappy_block_of_nothing_is_nothing() -> None:
    assert unpack(SNAPPY, memoryview(b"\x00"), 10) == b""


@pytest.mark.parametrize(
    ("text", "value"), [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF)]
)
def test_xxh32_of_known_texts(text: bytes, value: int) -> None:
    assert xxh32_short(text) == value


def test_xxh32_is_the_checksum_in_the_head_of_a_frame() -> None:
    frame = compress(LZ4, TEXT)
    at = 14 if frame[4] >> 3 & 1 else 6
    assert xxh32_short(frame[4:at]) >> 8 & 0xFF == frame[at]


def test_xxh32_of_more_is_refused() -> None:
    with pytest.raises(ValueError, match="16 bytes"):
        xxh32_short(bytes(16))


def test_old_lz4_frames_are_read_with_the_wrong_checksum_and_the_right_one() -> None:
    right = bytearray(compress(LZ4, TEXT))
    wrong = bytearray(right)
    wrong[14 if right[4] >> 3 & 1 else 6] ^= 0xFF
    with pytest.raises(UnpackError):
        unpack(LZ4, memoryview(wrong), 10_000)
    for frame in (right, wrong):
        assert unpack_old_lz4(memoryview(frame), 10_000) == TEXT


@pytest.mark.parametrize("size", range(16))
def test_an_old_lz4_frame_that_is_cut_short_is_an_error(size: int) -> None:
    frame = compress(LZ4, TEXT)[:size]
    if size == 0:
        assert unpack_old_lz4(memoryview(frame), 1000) == b""
        return
    with pytest.raises(UnpackError):
        unpack_old_lz4(memoryview(frame), 1000)
