"""Whatever the bytes: rows, or a FetchError that names where; never another error, never a hang."""

from __future__ import annotations

import itertools

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch
from kafka.record.util import decode_varint

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.kafka.framing import FramingError, frames
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from pyspark_zkgroup.schema import COLUMNS, WITH_HEADERS, arrow_schema
from tests.harness.drawn_records import TEXTS, Headers, records
from tests.harness.record_batches import CODECS, ZSTD, Record, batch, old_messages, seal

TP = TopicPartition("t", 0)
LIMITS = Limits(rows_max=7, bytes_max=200, unpacked_bytes_max=100_000)

ALL = OffsetRange(0, 2**62)
HEADERS: st.SearchStrategy[Headers] = st.lists(st.tuples(st.text(max_size=5), TEXTS), max_size=2)
NO_HEADERS: st.SearchStrategy[Headers] = st.just([])


def decode(data: bytes, wanted: OffsetRange) -> list[pa.RecordBatch]:
    decoder = ReferenceDecoder(LIMITS)
    return [*decoder.feed(TP, wanted, memoryview(data)), *decoder.finish()]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """Some bytes changed, below a checksum that fits again."""
    built = bytearray(batch(draw(records(HEADERS))))
    for _ in range(draw(st.integers(0, 3))):
        built[draw(st.integers(21, len(built) - 1))] = draw(st.integers(0, 255))
    return seal(built)


class TheirBatch(DefaultRecordBatch):  # type: ignore[misc]
    """kafka-python takes a record's attributes, which are one byte, for a varint: from 0x80 on it
    reads all behind them wrongly.
    """

    def _read_msg(self) -> object:
        number = itertools.count()

        def read(buffer: bytes, at: int) -> tuple[int, int]:
            if next(number) == 1:
                return buffer[at], at + 1
            value, behind = decode_varint(buffer, at)
            return value, behind

        return super()._read_msg(read)


@settings(max_examples=3 * settings().max_examples)
@given(damaged())
def test_what_kafka_python_can_read_comes_out_the_same(data: bytes) -> None:
    """It takes more than Kafka's own client, and of the text of headers less."""
    decoder = ReferenceDecoder(LIMITS, WITH_HEADERS)
    try:
        batches = [*decoder.feed(TP, ALL, memoryview(data)), *decoder.finish()]
    except FetchError:
        return
    try:
        read = [(r.offset, r.key, r.value, r.timestamp, r.headers) for r in TheirBatch(data)]
    except Exception:  # noqa: BLE001 - a codec drawn over plain bytes: each fails in its own words
        return
    if data[22] & 0x20:
        assert batches == []  # a control batch
        return
    table = pa.Table.from_batches(batches, arrow_schema(WITH_HEADERS))
    headers = [
        [] if one is None else [(h["key"], h["value"]) for h in one]
        for one in table["headers"].to_pylist()
    ]
    assert rows(batches) == [(*fields, ms * 1000) for *fields, ms, _ in read if fields[0] >= 0]
    assert headers == [found for offset, *_, found in read if offset >= 0]


def rows(batches: list[pa.RecordBatch]) -> list[tuple[object, ...]]:
    schema = batches[0].schema if batches else arrow_schema(COLUMNS)
    table = pa.Table.from_batches(batches, schema)
    columns = [table["offset"], table["key"], table["value"], table["timestamp"].cast(pa.int64())]
    return list(zip(*(column.to_pylist() for column in columns)))


def expected(made: list[Record], wanted: OffsetRange) -> list[tuple[object, ...]]:
    return [
        (r.offset, r.key, r.value, r.timestamp_ms * 1000)
        for r in made
        if wanted.start <= r.offset < wanted.until
    ]


@given(records(HEADERS), st.sampled_from(list(CODECS.values())), st.data())
def test_what_was_built_comes_out(made: list[Record], codec: int, data: st.DataObject) -> None:
    low, high = made[0].offset - 1, made[-1].offset + 2
    start = data.draw(st.integers(low, high))
    wanted = OffsetRange(start, data.draw(st.integers(start, high)))
    found = decode(batch(made, codec=codec), wanted)
    assert rows(found) == expected(made, wanted)
    assert all(one.num_rows <= LIMITS.rows_max for one in found)
    for one in found:
        size = sum(len(text or b"") for name in (0, 1) for text in one.column(name).to_pylist())
        assert size <= LIMITS.bytes_max or one.num_rows == 1


@given(records(NO_HEADERS), st.sampled_from([c for c in CODECS.values() if c != ZSTD]))
def test_old_sets_come_out_too(made: list[Record], codec: int) -> None:
    wanted = OffsetRange(0, 2**50)
    assert rows(decode(old_messages(made, magic=1, codec=codec), wanted)) == expected(made, wanted)


def survives(data: bytes) -> None:
    raised: FetchError | None = None
    try:
        decode(data, OffsetRange(0, 2**62))
    except FetchError as error:
        raised = error
    if raised is not None:
        assert (raised.topic, raised.partition) == ("t", 0)
        assert "t-0" in str(raised)


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survives(data)


@settings(max_examples=3 * settings().max_examples)
@given(records(HEADERS), st.sampled_from(list(CODECS.values())), st.data())
def test_any_change_below_the_checksum(made: list[Record], codec: int, data: st.DataObject) -> None:
    built = bytearray(batch(made, codec=codec))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(built) - 1))
        built[at] = data.draw(st.integers(0, 255))
    built[16] = 2
    survives(seal(built))


@given(st.binary(max_size=200), st.integers(0, 50), st.integers(0, 50))
def test_framing_of_any_bytes_goes_forward(data: bytes, position: int, length: int) -> None:
    try:
        found = frames(data, position, position + length)
    except FramingError:
        return
    assert 0 <= found.size <= len(data)
    assert found.next_offset >= position
