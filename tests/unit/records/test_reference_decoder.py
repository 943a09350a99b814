from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from kafka.record.util import calc_crc32

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import COLUMNS, arrow_schema
from tests.harness.record_batches import (
    APPEND_TIME_BIT,
    CODECS,
    CONTROL_BIT,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    ZSTD,
    Record,
    batch,
    compress,
    old_messages,
    seal,
)

TP = TopicPartition("orders", 3)
LIMITS = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
ALL = OffsetRange(0, 1 << 40)
PACKING = {name: codec for name, codec in CODECS.items() if codec != NONE}
OLD_CODECS = {name: codec for name, codec in CODECS.items() if codec != ZSTD}

RECORDS = [
    Record(100, b"k0", b"v0", 1_700_000_000_000),
    Record(101, None, b"v1", 1_700_000_000_001, headers=[("h", b"x"), ("h", None)]),
    Record(102, b"", None, 1_700_000_000_002),
    Record(105, b"k5", b"", 1_699_999_999_999),
    Record(106, None, None, 1_700_000_000_003),
]


def decode(
    data: bytes, wanted: OffsetRange = ALL, *, limits: Limits = LIMITS
) -> list[pa.RecordBatch]:
    decoder = ReferenceDecoder(limits)
    return [*decoder.feed(TP, wanted, memoryview(data)), *decoder.finish()]


def rows(data: bytes, wanted: OffsetRange = ALL, *, limits: Limits = LIMITS) -> list[Any]:
    """(offset, key, value) of every row."""
    table = pa.Table.from_batches(decode(data, wanted, limits=limits), arrow_schema(COLUMNS))
    columns = [table[name].to_pylist() for name in ("offset", "key", "value")]
    return list(zip(*columns))


def expected_rows(records: Sequence[Record]) -> list[Any]:
    return [(r.offset, r.key, r.value) for r in records]


# --- what is in a batch ---


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_every_codec_gives_the_same_columns(codec: int) -> None:
    (found,) = decode(batch(RECORDS, codec=codec))
    assert found.schema == arrow_schema(COLUMNS)
    assert found.to_pydict() == {
        "key": [b"k0", None, b"", b"k5", None],
        "value": [b"v0", b"v1", None, b"", None],
        "topic": ["orders"] * 5,
        "partition": [3] * 5,
        "offset": [100, 101, 102, 105, 106],
        "timestamp": pa.array(
            [r.timestamp_ms * 1000 for r in RECORDS], pa.timestamp("us", tz="UTC")
        ).to_pylist(),
        "timestampType": [0] * 5,
    }


def test_snappy_may_come_without_the_frame_of_java() -> None:
    plain = batch(RECORDS)[61:]
    packed = compress(SNAPPY, plain, xerial=False)
    assert rows(batch(RECORDS, codec=SNAPPY, packed=packed)) == expected_rows(RECORDS)


def test_append_time_is_that_of_the_batch() -> None:
    data = batch(RECORDS, attributes=APPEND_TIME_BIT, max_timestamp_ms=1_700_000_000_777)
    (found,) = decode(data)
    assert found["timestampType"].to_pylist() == [1] * 5
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [1_700_000_000_777_000] * 5


def test_times_before_1970_are_kept() -> None:
    (found,) = decode(batch([Record(0, timestamp_ms=-5)]))
    assert found["timestamp"].cast(pa.int64()).to_pylist() == [-5000]


def test_control_batches_are_left_out() -> None:
    marker = Record(101, key=struct.pack(">hh", 0, 1), value=struct.pack(">hi", 0, 7))
    data = (
        batch([Record(100)]) + batch([marker], attributes=CONTROL_BIT | 0x10) + batch([Record(102)])
    )
    assert [offset for offset, *_ in rows(data)] == [100, 102]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_batch_that_compaction_emptied_gives_nothing(codec: int) -> None:
    emptied = batch([], base_offset=50, last_offset=60)
    with_codec = batch([], base_offset=61, last_offset=62, codec=codec, packed=b"")
    assert decode(emptied + with_codec) == []


@pytest.mark.parametrize("codec", OLD_CODECS.values(), ids=OLD_CODECS)
@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_sets(magic: int, codec: int) -> None:
    found = pa.Table.from_batches(decode(old_messages(RECORDS, magic=magic, codec=codec)))
    assert found["offset"].to_pylist() == [100, 101, 102, 105, 106]
    assert found["key"].to_pylist() == [r.key for r in RECORDS]
    assert found["value"].to_pylist() == [r.value for r in RECORDS]
    times = found["timestamp"].cast(pa.int64()).to_pylist()
    if magic == 0:
        assert times == [-1000] * 5
        assert found["timestampType"].to_pylist() == [-1] * 5
    else:
        assert times == [r.timestamp_ms * 1000 for r in RECORDS]
        assert found["timestampType"].to_pylist() == [0] * 5


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4])
def test_append_time_of_an_old_set_is_that_of_its_outer_message(codec: int) -> None:
    data = old_messages(RECORDS[:2], magic=1, codec=codec, attributes=APPEND_TIME_BIT)
    (found,) = decode(data)
    newest = RECORDS[1].timestamp_ms * 1000
    own = [r.timestamp_ms * 1000 for r in RECORDS[:2]]
    assert found["timestamp"].cast(pa.int64()).to_pylist() == (
        own if codec == NONE else [newest] * 2
    )
    assert found["timestampType"].to_pylist() == [1, 1]


def test_forms_may_follow_each_other() -> None:
    data = (
        old_messages(RECORDS[:2], magic=0, codec=GZIP)
        + old_messages(RECORDS[2:3], magic=1)
        + batch(RECORDS[3:], codec=ZSTD)
    )
    assert rows(data) == expected_rows(RECORDS)


# --- what is wanted of it ---


@pytest.mark.parametrize("codec", [NONE, ZSTD])
@pytest.mark.parametrize(
    ("start", "until", "offsets"),
    [
        (0, 100, []),
        (100, 101, [100]),
        (101, 106, [101, 102, 105]),
        (103, 105, []),
        (106, 1000, [106]),
        (107, 1000, []),
        (103, 103, []),
    ],
)
def test_the_range_cuts_inside_a_batch(
    start: int, until: int, offsets: list[int], codec: int
) -> None:
    found = rows(batch(RECORDS, codec=codec), OffsetRange(start, until))
    assert [offset for offset, *_ in found] == offsets


@pytest.mark.parametrize("magic", [0, 1])
def test_the_range_cuts_inside_an_old_set(magic: int) -> None:
    data = old_messages(RECORDS, magic=magic, codec=GZIP)
    assert [offset for offset, *_ in rows(data, OffsetRange(101, 106))] == [101, 102, 105]


def test_nothing_gives_no_batch() -> None:
    assert decode(b"") == []


# --- the size of what comes out ---


def test_batches_are_bounded_in_rows_across_kafka_batches_and_partitions() -> None:
    decoder = ReferenceDecoder(Limits(rows_max=4, bytes_max=1 << 20, unpacked_bytes_max=1 << 20))
    other = TopicPartition("payments", 0)
    found = [
        *decoder.feed(TP, ALL, memoryview(batch([Record(n) for n in range(6)]))),
        *decoder.feed(other, ALL, memoryview(batch([Record(n) for n in range(6, 9)]))),
        *decoder.finish(),
    ]
    assert [b.num_rows for b in found] == [4, 4, 1]
    table = pa.Table.from_batches(found)
    assert table["offset"].to_pylist() == list(range(9))
    assert table["topic"].to_pylist() == ["orders"] * 6 + ["payments"] * 3
    assert table["partition"].to_pylist() == [3] * 6 + [0] * 3


def test_batches_are_bounded_in_bytes_and_a_larger_record_is_alone() -> None:
    limits = Limits(rows_max=100, bytes_max=100, unpacked_bytes_max=1 << 20)
    sizes = [40, 40, 40, 500, 1, 60, 39, 1]
    data = batch([Record(n, None, b"x" * size) for n, size in enumerate(sizes)])
    assert [b.num_rows for b in decode(data, limits=limits)] == [2, 1, 1, 3, 1]


# --- bytes that lie ---


def damaged(data: bytes, match: str, *, offset: int = 100, limits: Limits = LIMITS) -> None:
    with pytest.raises(FetchError, match=match) as caught:
        decode(data, limits=limits)
    error = caught.value
    assert (error.topic, error.partition, error.offset) == ("orders", 3, offset)
    assert "orders-3" in str(error)


def resealed(data: bytes, at: int, value: bytes) -> bytes:
    built = bytearray(data)
    built[at : at + len(value)] = value
    return seal(built)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_flipped_bit_fails_the_checksum(codec: int) -> None:
    data = bytearray(batch([Record(7)]) + batch(RECORDS, codec=codec))
    data[-3] ^= 0x10
    damaged(bytes(data), r"offset 100 of orders-3: .* checksum")


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", OLD_CODECS.values(), ids=OLD_CODECS)
def test_a_flipped_bit_in_an_old_message_fails_the_checksum(magic: int, codec: int) -> None:
    data = bytearray(old_messages(RECORDS[:1], magic=magic, codec=codec))
    data[-1] ^= 0x01
    damaged(bytes(data), "checksum")


@pytest.mark.parametrize("codec", PACKING.values(), ids=PACKING)
def test_a_bomb_is_refused_before_it_fills_the_memory(codec: int) -> None:
    limits = Limits(rows_max=10, bytes_max=10, unpacked_bytes_max=1000)
    packed = compress(codec, bytes(50_000_000))
    damaged(batch(RECORDS, codec=codec, packed=packed), "unpacks to more than 1000", limits=limits)


@pytest.mark.parametrize("codec", PACKING.values(), ids=PACKING)
def test_what_does_not_unpack_is_an_error(codec: int) -> None:
    packed = compress(codec, batch(RECORDS)[61:])
    damaged(batch(RECORDS, codec=codec, packed=packed[:-6]), "Cannot read the record batch")
    damaged(batch(RECORDS, codec=codec, packed=b"\xff" * 40), "Cannot read the record batch")


def test_an_unknown_codec_is_an_error() -> None:
    damaged(batch(RECORDS, codec=6, packed=b"12345678"), "unknown codec 6")


@pytest.mark.parametrize("count", [-1, 0, 4, 6, 2**31 - 1])
def test_a_wrong_count_of_records_is_an_error(count: int) -> None:
    damaged(resealed(batch(RECORDS), 57, struct.pack(">i", count)), "Cannot read the record batch")


def test_a_record_behind_the_end_of_its_batch_is_an_error() -> None:
    damaged(batch(RECORDS, last_offset=105), "record with offset 106")


def test_offsets_that_go_back_are_an_error() -> None:
    twice = [Record(100), Record(101), Record(101), Record(102)]
    damaged(batch(twice), "record with offset 101")


def test_a_record_longer_than_its_batch_is_an_error() -> None:
    data = batch([Record(100, None, b"abc")])
    # length, attributes, time, offset, key length, value length
    damaged(resealed(data, 61 + 5, bytes([120])), "Cannot read the record batch")


def test_a_time_that_no_calendar_holds_is_an_error() -> None:
    data = batch([Record(100, timestamp_ms=2**62)])
    damaged(data, "time 4611686018427387904 ms")


@pytest.mark.parametrize("length", [-1, 0, 48, 10_000, 2**31 - 1])
def test_a_wrong_length_is_an_error(length: int) -> None:
    data = bytearray(batch(RECORDS))
    struct.pack_into(">i", data, 8, length)
    with pytest.raises(FetchError, match=r"claims|checksum|Cannot read"):
        decode(bytes(data))


@pytest.mark.parametrize("size", [1, 11, 16, 17, 60, 61, 100])
def test_a_batch_that_is_cut_short_is_an_error(size: int) -> None:
    with pytest.raises(FetchError, match="Cannot read the record batch"):
        decode(batch(RECORDS)[:size])


def test_an_unknown_format_is_an_error() -> None:
    data = bytearray(batch(RECORDS))
    data[16] = 3
    with pytest.raises(FetchError, match="format 3"):
        decode(bytes(data))


def test_a_set_in_a_set_is_an_error() -> None:
    inner = old_messages(RECORDS, magic=1, codec=GZIP)
    outer = Record(106, None, compress(GZIP, inner))
    data = bytearray(old_messages([outer], magic=1, attributes=GZIP))
    with pytest.raises(FetchError, match="another kind"):
        decode(bytes(data))


@pytest.mark.parametrize("magic", [0, 1])
def test_lengths_in_an_old_message_are_not_trusted(magic: int) -> None:
    data = bytearray(old_messages([Record(100, b"key", b"value")], magic=magic))
    key_length_at = 18 if magic == 0 else 26
    for length in (-2, 2, 4, 1000, 2**31 - 1):
        struct.pack_into(">i", data, key_length_at, length)
        struct.pack_into(">I", data, 12, calc_crc32(memoryview(data)[16:]))
        damaged(bytes(data), "Cannot read the record batch")
