from __future__ import annotations

import pyarrow as pa
import pytest

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import WITH_HEADERS, arrow_schema
from tests.harness.record_batches import CODECS, GZIP, Record, batch, old_messages

TP = TopicPartition("orders", 3)
LIMITS = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
ALL = OffsetRange(0, 1 << 40)


def decode(data: bytes, limits: Limits) -> list[pa.RecordBatch]:
    """Without headers."""
    decoder = ReferenceDecoder(limits)
    return [*decoder.feed(TP, ALL, memoryview(data)), *decoder.finish()]


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_headers_tell_none_from_empty_and_are_null_where_there_are_none(codec: int) -> None:
    headers: list[tuple[str | bytes, bytes | None]] = [
        ("a", b"1"),
        ("a", b""),
        ("\u00e9", None),
        ("", b"x"),
        (b"\xed\xa0\x80\xff", None),
    ]
    records = [Record(1), Record(2, headers=headers), Record(3), Record(4, headers=headers[:1])]
    decoder = ReferenceDecoder(LIMITS, WITH_HEADERS)
    data = batch(records, codec=codec)
    (found,) = [*decoder.feed(TP, ALL, memoryview(data)), *decoder.finish()]
    assert found.schema == arrow_schema(WITH_HEADERS)
    pairs = [("a", b"1"), ("a", b""), ("\u00e9", None), ("", b"x"), ("\ufffd\ufffd", None)]
    expected = [{"key": key, "value": value} for key, value in pairs]
    assert found["headers"].to_pylist() == [None, expected, None, expected[:1]]
    plain = decode(data, LIMITS)
    assert [one.drop_columns("headers").equals(bare) for one, bare in zip([found], plain)] == [True]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_have_no_headers(magic: int) -> None:
    decoder = ReferenceDecoder(LIMITS, WITH_HEADERS)
    data = memoryview(old_messages([Record(n) for n in range(5)], magic=magic, codec=GZIP))
    (found,) = [*decoder.feed(TP, ALL, data), *decoder.finish()]
    assert found["headers"].to_pylist() == [None] * 5


def test_headers_count_towards_the_size_of_a_batch() -> None:
    limits = Limits(rows_max=100, bytes_max=100, unpacked_bytes_max=1 << 20)
    records = [Record(n, None, b"", headers=[("h", b"x" * 24), ("h", None)]) for n in range(5)]
    decoder = ReferenceDecoder(limits, WITH_HEADERS)
    found = [*decoder.feed(TP, ALL, memoryview(batch(records))), *decoder.finish()]
    assert [one.num_rows for one in found] == [2, 2, 1]  # 42 bytes each: 33 and 9
    assert [one.num_rows for one in decode(batch(records), limits)] == [5]


def test_too_many_headers_are_an_error_only_for_readers_of_headers() -> None:
    limits = Limits(rows_max=100, bytes_max=100, unpacked_bytes_max=1000)
    data = batch([Record(100, headers=[("", None)] * 126)])
    decoder = ReferenceDecoder(limits, WITH_HEADERS)
    with pytest.raises(FetchError, match=r"offset 100 of orders-3: .* more than 1000 bytes"):
        list(decoder.feed(TP, ALL, memoryview(data)))
    assert [one.num_rows for one in decode(data, limits)] == [1]
