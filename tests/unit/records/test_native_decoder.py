from __future__ import annotations

import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from kafka.record.util import encode_varint

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.choice import decoder, slow_because
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.native import NativeDecoder
from pyspark_zkgroup.schema import COLUMNS, WITH_HEADERS, arrow_schema
from tests.harness.record_batches import (
    CODECS,
    NONE,
    ZSTD,
    Record,
    batch,
    compress,
    old_messages,
    seal,
)

TP = TopicPartition("orders", 3)
OTHER = TopicPartition("payments", 0)
LIMITS = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
ALL = OffsetRange(0, 1 << 40)
PACKING = {name: codec for name, codec in CODECS.items() if codec != NONE}
GOLDEN = sorted((Path(__file__).parents[2] / "golden" / "records").glob("*.bin"))


def feed(
    native: NativeDecoder, data: bytes, partition: TopicPartition = TP
) -> Iterator[pa.RecordBatch]:
    return native.feed(partition, ALL, memoryview(data))


def offsets(batches: list[pa.RecordBatch]) -> list[list[int]]:
    return [one["offset"].to_pylist() for one in batches]


def test_it_is_the_one_that_is_chosen() -> None:
    assert slow_because() is None
    assert isinstance(decoder(LIMITS), NativeDecoder)


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_what_a_real_broker_sent_it_reads_itself(path: Path) -> None:
    native = NativeDecoder(LIMITS)
    batches = [*feed(native, path.read_bytes()), *native.finish()]
    assert sum(one.num_rows for one in batches) in {8, 16}
    assert all(one.schema == arrow_schema(COLUMNS) for one in batches)
    assert (native.referred > 0) == (not path.name.startswith("magic2"))


def test_rows_wait_for_more_of_any_partition() -> None:
    native = NativeDecoder(Limits(rows_max=4, bytes_max=1 << 20, unpacked_bytes_max=1 << 20))
    found = list(feed(native, batch([Record(n) for n in range(6)])))
    assert offsets(found) == [[0, 1, 2, 3]]
    found = list(feed(native, batch([Record(n) for n in range(6, 9)]), OTHER))
    assert offsets(found) == [[4, 5, 6, 7]]
    assert found[0]["topic"].to_pylist() == ["orders"] * 2 + ["payments"] * 2
    assert found[0]["partition"].to_pylist() == [3, 3, 0, 0]
    assert offsets(list(native.finish())) == [[8]]
    assert list(native.finish()) == []


def test_rows_keep_their_order_when_the_reference_reads_some_of_them() -> None:
    native = NativeDecoder(LIMITS)
    data = (
        batch([Record(0), Record(1)])
        + old_messages([Record(2), Record(3)], magic=1)
        + old_messages([Record(4)], magic=0)
        + batch([Record(5)])
    )
    found = [*feed(native, data), *feed(native, old_messages([Record(6)], magic=1))]
    found += native.finish()
    assert [n for one in offsets(found) for n in one] == list(range(7))
    assert native.referred == 2


def test_any_kind_of_memory_will_do() -> None:
    data = batch([Record(7, b"key", b"value")])
    padded = memoryview(b"ab" + data + b"cd")[2:-2]
    kinds = [memoryview(data), padded, memoryview(bytearray(data)), memoryview(pa.py_buffer(data))]
    for kind in kinds:
        native = NativeDecoder(LIMITS)
        (found,) = [*native.feed(TP, ALL, kind), *native.finish()]
        assert found["value"].to_pylist() == [b"value"]


def test_batches_do_not_change_when_more_is_read() -> None:
    native = NativeDecoder(Limits(rows_max=2, bytes_max=1 << 20, unpacked_bytes_max=1 << 20))
    data = batch([Record(n, None, b"%d" % n) for n in range(4)])
    first, second = [*feed(native, data), *native.finish()]
    assert first["value"].to_pylist() == [b"0", b"1"]
    assert second["value"].to_pylist() == [b"2", b"3"]


def test_columns_without_a_null_have_no_bits_for_them() -> None:
    native = NativeDecoder(LIMITS)
    (found,) = [*feed(native, batch([Record(0, None, b"v")])), *native.finish()]
    assert (found["key"].null_count, found["value"].null_count) == (1, 0)
    assert found["value"].buffers()[0] is None


def test_after_damage_it_can_be_fed_again() -> None:
    native = NativeDecoder(LIMITS)
    good, bad = batch([Record(1)]), bytearray(batch([Record(2)]))
    bad[-1] ^= 1
    with pytest.raises(FetchError, match=r"offset 2 of orders-3: .* checksum") as caught:
        list(feed(native, good + bad))
    assert (caught.value.topic, caught.value.partition, caught.value.offset) == ("orders", 3, 2)
    assert list(feed(native, batch([Record(3)]))) == []
    assert offsets(list(native.finish())) == [[1, 3]]


def test_what_is_left_half_read_is_forgotten() -> None:
    native = NativeDecoder(Limits(rows_max=1, bytes_max=1 << 20, unpacked_bytes_max=1 << 20))
    half = feed(native, batch([Record(n) for n in range(5)]))
    assert offsets([next(half)]) == [[0]]
    assert offsets(list(feed(native, batch([Record(7), Record(8)]), OTHER))) == [[7]]


def packed_record(offset_delta: int, value: bytes) -> bytes:
    """kafka-python takes half a minute to build one of 50 MB."""
    body = bytearray(2)  # attributes, and no time behind the first one's
    for number in (offset_delta, -1, len(value)):
        encode_varint(number, body.append)
    head = bytearray()
    encode_varint(len(body) + len(value) + 1, head.append)
    return bytes(head + body) + value + b"\0"


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_a_record_of_50_megabytes_passes(codec: int) -> None:
    native = NativeDecoder(Limits(rows_max=10, bytes_max=1 << 20, unpacked_bytes_max=1 << 28))
    value = b"0123456789" * 5_000_000
    records = [packed_record(0, b""), packed_record(1, value), packed_record(2, b"")]
    packed = compress(codec, b"".join(records))
    data = batch([Record(0), Record(1), Record(2)], codec=codec, packed=packed)
    found = [*feed(native, data), *native.finish()]
    assert offsets(found) == [[0], [1], [2]]
    assert found[1]["value"][0].as_buffer().equals(pa.py_buffer(value))
    assert native.referred == 0


BOMB = """
import resource, struct, sys
from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.native import NativeDecoder
from pyspark_zkgroup.schema import WITH_HEADERS

native = NativeDecoder(Limits(rows_max=10, bytes_max=1 << 20, unpacked_bytes_max=20_000_000))
data = sys.stdin.buffer.read()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    list(native.feed(TopicPartition("t", 0), OffsetRange(0, 100), memoryview(data)))
except FetchError as error:
    print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("codec", PACKING.values(), ids=PACKING)
def test_a_bomb_is_refused_before_it_fills_the_memory(codec: int) -> None:
    bomb = batch([Record(0)], codec=codec, packed=compress(codec, bytes(200_000_000)))
    told = subprocess.run(
        [sys.executable, "-c", BOMB], input=bomb, capture_output=True, timeout=120, check=True
    )
    said, grown_kib = told.stdout.decode().splitlines()
    assert "unpacks to more than 20000000 bytes" in said
    assert int(grown_kib) * 1024 < 120_000_000


def test_a_count_that_lies_takes_no_memory() -> None:
    data = bytearray(batch([Record(0)]))
    struct.pack_into(">i", data, 57, 2**31 - 1)
    with pytest.raises(FetchError, match="Cannot read the record batch"):
        list(feed(NativeDecoder(LIMITS), seal(data)))


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("count", [-1, 2**31 - 1, -(2**31)])
def test_a_count_of_headers_that_lies_takes_no_memory(count: int, headers: bool) -> None:
    number: list[int] = []
    encode_varint(count, number.append)
    body = b"\0\0\0\1\1" + bytes(number)
    data = bytearray(batch([Record(0)])[:61]) + bytes([2 * len(body)]) + body
    native = NativeDecoder(LIMITS, WITH_HEADERS if headers else COLUMNS)
    with pytest.raises(FetchError, match="Cannot read the record batch at offset 0 of orders-3"):
        list(feed(native, seal(data)))


def test_a_bomb_of_headers_is_refused_before_it_fills_the_memory() -> None:
    """Each takes two bytes in a record and at least eight in a column."""
    number: list[int] = []
    count = 9_000_000
    encode_varint(count, number.append)
    body = b"\0\0\0\1\1" + bytes(number) + b"\0\1" * count
    size: list[int] = []
    encode_varint(len(body), size.append)
    packed = compress(ZSTD, bytes(size) + body)
    bomb = batch([Record(0)], codec=ZSTD, packed=packed)
    script = BOMB.replace(
        "unpacked_bytes_max=20_000_000)", "unpacked_bytes_max=20_000_000), WITH_HEADERS"
    )
    told = subprocess.run(
        [sys.executable, "-c", script], input=bomb, capture_output=True, timeout=120, check=True
    )
    said, grown_kib = told.stdout.decode().splitlines()
    assert "headers of a record in it take more than 20000000 bytes" in said
    assert int(grown_kib) * 1024 < 120_000_000


def test_headers_do_not_change_when_more_is_read() -> None:
    limits = Limits(rows_max=2, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
    native = NativeDecoder(limits, WITH_HEADERS)
    records = [Record(n, headers=[("h", b"%d" % n)] * (n % 3)) for n in range(5)]
    found = [*feed(native, batch(records)), *native.finish()]
    assert [one["headers"].to_pylist() for one in found] == [
        [None, [{"key": "h", "value": b"1"}]],
        [[{"key": "h", "value": b"2"}] * 2, None],
        [[{"key": "h", "value": b"4"}]],
    ]
    assert found[2]["headers"].buffers()[0] is None


def test_other_threads_run_while_it_reads() -> None:
    """A thread that counts gets on while a step is under way, which is one call of Python's."""
    native = NativeDecoder(Limits(rows_max=1 << 30, bytes_max=1 << 30, unpacked_bytes_max=1 << 30))
    one = batch([Record(n, None, bytes(100)) for n in range(20_000)], codec=ZSTD)
    data = one * 60
    counted, begun, done = [0], threading.Event(), threading.Event()

    def count() -> None:
        begun.set()
        while not done.is_set():
            counted[0] += 1

    # Python gives the lock away every 5 ms by itself, but never within a call.
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    counter = threading.Thread(target=count)
    counter.start()
    try:
        assert begun.wait(10)
        native._native.open(data, 0, len(data), "t", 0, 0, 1 << 40, [])
        before = counted[0]
        assert native._native.step() is None
        assert counted[0] - before > 1000
    finally:
        done.set()
        counter.join()
        sys.setswitchinterval(old)
    assert native._native.rows == 60 * 20_000
