"""Whatever the bytes: the native decoder makes the same of them as the reference."""

from __future__ import annotations

import random
import struct
import time
from collections.abc import Iterator
from itertools import islice

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

pytest.importorskip(
    "pyspark_zkgroup.records._decoder",
    reason="the native decoder is not built: it takes a Rust toolchain and `make setup`",
)

from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.native import NativeDecoder
from pyspark_zkgroup.schema import COLUMNS, WITH_HEADERS, Column
from tests.harness.decoders import ALL, LIMITS, TP, Columns, Fed, disagreement, outcome
from tests.harness.drawn_records import TEXTS, Headers, records
from tests.harness.mutations import cases
from tests.harness.record_batches import (
    APPEND_TIME_BIT,
    CODECS,
    CONTROL_BIT,
    LZ4,
    NONE,
    SNAPPY,
    TRANSACTIONAL_BIT,
    ZSTD,
    Record,
    batch,
    compress,
    marker,
    old_messages,
    seal,
)

FUZZ_SECONDS = 3.0
RECORDS_AT = 61

HEADER_KEYS = st.text(max_size=5) | st.binary(max_size=5)
HEADERS = st.lists(st.tuples(HEADER_KEYS, TEXTS), max_size=3)
AS_TEXT = (Column("key", "string"), Column("value", "string"))
# Any of them, in any order; keys and values also as text, which need not be UTF-8.
ASKED: st.SearchStrategy[Columns] = st.lists(
    st.sampled_from([*WITH_HEADERS, *AS_TEXT]), min_size=1, unique_by=lambda one: one.name
).map(tuple)
PRODUCERS = st.integers(-1, 3)
NO_HEADERS: st.SearchStrategy[Headers] = st.just([])
PARTITIONS = st.sampled_from(
    [TP, TopicPartition("payments", 0), TopicPartition("p\u00e4", 2**31 - 1)]
)
SOME = [
    Record(100, b"k0", b"v0", 1_700_000_000_000),
    Record(101, None, b"v1", 1_700_000_000_001, headers=[("h", b"x"), ("\u00e9", None)]),
    Record(102, b"", None, 1_700_000_000_002, headers=[(b"\xed\xa0\x80\xff", b"")]),
    Record(105, b"k5", b"", 1_699_999_999_999),
]
ABORTED = (AbortedTransaction(7, 101), AbortedTransaction(7, 107), AbortedTransaction(8, 0))
TRANSACTION_PARTS = 3


def agree(
    data: bytes,
    wanted: OffsetRange = ALL,
    aborted: tuple[AbortedTransaction, ...] = (),
    *,
    columns: Columns = WITH_HEADERS,
) -> None:
    found = disagreement([Fed(TP, wanted, data, aborted)], columns=columns)
    assert found is None, f"{data.hex()}: {found[:500]}"


def transactions(codec: int) -> list[bytes]:
    """Aborted, its marker, and one of the same producer that counts again."""
    bits = TRANSACTIONAL_BIT
    return [
        batch(SOME, codec=codec, attributes=bits, producer_id=7),
        marker(106, 7),
        batch([Record(108, b"k")], codec=codec, attributes=bits, producer_id=8)
        + batch([Record(109, b"k")], codec=codec, attributes=bits, producer_id=9),
    ]


def changes(data: bytes, at: int) -> Iterator[bytearray]:
    for value in {0, 0xFF, data[at] ^ 0x01, data[at] ^ 0x80, (data[at] + 2) % 256}:
        changed = bytearray(data)
        changed[at] = value
        yield changed


@st.composite
def feeds(draw: st.DrawFn) -> Fed:
    """One to three batches of one partition, of any form, and a part of them that is wanted."""
    built, low, high = b"", 2**41, 0
    aborted: list[AbortedTransaction] = []
    for _ in range(draw(st.integers(1, 3))):
        is_old = draw(st.booleans()) and draw(st.booleans())
        made = draw(records(NO_HEADERS if is_old else HEADERS))
        low, high = min(low, made[0].offset), max(high, made[-1].offset)
        codec = draw(st.sampled_from(list(CODECS.values())))
        if is_old:
            built += old_messages(made, magic=1, codec=NONE if codec == ZSTD else codec)
        else:
            forms = [0, 0, APPEND_TIME_BIT, CONTROL_BIT, TRANSACTIONAL_BIT, TRANSACTIONAL_BIT]
            bits, producer = draw(st.sampled_from(forms)), draw(PRODUCERS)
            built += batch(made, codec=codec, attributes=bits, producer_id=producer)
            if draw(st.booleans()):
                aborted.append(AbortedTransaction(draw(PRODUCERS), draw(st.integers(0, high))))
            if draw(st.booleans()):
                version = draw(st.integers(-1, 1))
                built += marker(high + 1, producer, aborts=draw(st.booleans()), version=version)
    start = draw(st.integers(max(0, low - 1), high + 1))
    wanted = OffsetRange(start, draw(st.integers(start, high + 2)))
    return Fed(draw(PARTITIONS), wanted, built, tuple(aborted))


@given(st.lists(feeds(), max_size=3), ASKED)
def test_on_whatever_was_built(fed: list[Fed], columns: Columns) -> None:
    assert disagreement(fed, columns=columns) is None


@given(
    st.lists(feeds(), max_size=3),
    st.builds(Limits, st.integers(1, 30), st.integers(1, 300), st.integers(1, 600)),
    ASKED,
)
def test_under_any_limits(fed: list[Fed], limits: Limits, columns: Columns) -> None:
    assert disagreement(fed, limits=limits, columns=columns) is None


@pytest.mark.parametrize("columns", [WITH_HEADERS, COLUMNS, COLUMNS[4:5]], ids=len)
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_with_any_single_byte_changed(codec: int, columns: Columns) -> None:
    data = batch(SOME, codec=codec)
    for at in range(len(data)):
        for changed in changes(data, at):
            agree(bytes(changed), columns=columns)
            # Again below the checksum, which is at 17, and behind the length, which sealing sets.
            agree(seal(changed), columns=columns)


@pytest.mark.parametrize("part", range(TRANSACTION_PARTS))
@pytest.mark.parametrize("codec", [NONE, LZ4])
def test_with_any_single_byte_of_a_transaction_changed(codec: int, part: int) -> None:
    parts = transactions(codec)
    for at in range(len(parts[part])):
        for changed in changes(parts[part], at):
            if part < TRANSACTION_PARTS - 1:
                changed = bytearray(seal(changed))
            agree(b"".join([*parts[:part], changed, *parts[part + 1 :]]), aborted=ABORTED)


@pytest.mark.long
@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_with_any_single_byte_changed_to_any_other(codec: int) -> None:
    parts = transactions(codec)
    for at in range(len(parts[0])):
        for value in range(256):
            changed = bytearray(parts[0])
            changed[at] = value
            behind = b"".join(parts[1:])
            agree(bytes(changed) + behind, aborted=ABORTED)
            agree(seal(changed) + behind, aborted=ABORTED)
            agree(seal(changed) + behind)


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_with_any_byte_of_its_records_changed_before_they_are_packed(codec: int) -> None:
    plain = batch(SOME)
    for at in range(RECORDS_AT, len(plain)):
        for changed in changes(plain, at):
            agree(batch(SOME, codec=codec, packed=compress(codec, bytes(changed[RECORDS_AT:]))))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_cut_off_anywhere(codec: int) -> None:
    data = batch(SOME, codec=codec)
    for size in range(len(data)):
        agree(data[:size])
        if size >= RECORDS_AT:
            agree(seal(bytearray(data[:size])))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_with_something_behind_what_is_packed(codec: int) -> None:
    packed = compress(codec, batch(SOME)[RECORDS_AT:])
    skipped = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"  # a frame that lz4 and zstd pass over
    half = len(batch(SOME)[RECORDS_AT:]) // 2
    parts = [batch(SOME)[RECORDS_AT:][:half], batch(SOME)[RECORDS_AT:][half:]]
    two = b"".join(compress(codec, part) for part in parts)
    tails = [b"\0" * n for n in range(1, 20)] + [packed[:n] for n in range(len(packed))]
    forms = [packed + tail for tail in tails]
    forms += [two, skipped + packed, packed + skipped]
    forms += [packed + skipped + b"\0" * n for n in range(1, 5)]
    forms += [packed + compress(codec, b""), compress(codec, b"") + packed]
    for form in forms:
        agree(batch(SOME, codec=codec, packed=form))


def test_with_numbers_that_are_too_long() -> None:
    numbers = [b"\xff" * 9 + bytes([last]) for last in (0, 1, 2, 3, 0x7E, 0x7F, 0x80)]
    numbers += [b"\xff" * 4 + bytes([last]) for last in (0, 7, 8, 0x0F, 0x10, 0x7F, 0x80)]
    numbers += [b"\xfe" * 9 + b"\x01", b"\x80" * 9 + b"\x02", b"\x80\x80\x00", b"\x81\x80\x00"]
    # attributes, time, offset, key, value, headers
    ordinary = [b"\0", b"\0", b"\0", b"\1", b"\1", b"\0"]
    for at in range(len(ordinary)):
        for number in numbers:
            body = b"".join([*ordinary[:at], number, *ordinary[at + 1 :]])
            for first_ms in (0, -(2**63), 2**63 - 1):
                for bits in (0, APPEND_TIME_BIT):
                    built = bytearray(batch([Record(100)], attributes=bits)[:RECORDS_AT])
                    struct.pack_into(">q", built, 27, first_ms)
                    agree(seal(built + bytes([2 * len(body)]) + body))


def test_at_the_ends_of_the_numbers_in_a_head() -> None:
    ends = [-(2**63), -(2**63) + 1, -1, 0, 2**62, 2**63 - 2, 2**63 - 1]
    for field, bits in ((0, 0), (27, 0), (35, APPEND_TIME_BIT)):
        for number in ends:
            built = bytearray(batch(SOME, attributes=bits))
            struct.pack_into(">q", built, field, number)
            agree(seal(built))
    for field in (23, 57):
        for number in (-(2**31), -1, 0, 3, 5, 2**31 - 1):
            built = bytearray(batch(SOME))
            struct.pack_into(">i", built, field, number)
            agree(seal(built))


def test_on_snappy_without_the_frame_of_java() -> None:
    packed = compress(SNAPPY, batch(SOME)[RECORDS_AT:], xerial=False)
    for at in range(len(packed)):
        for value in {0, 0xFF, packed[at] ^ 0x01, packed[at] ^ 0x80}:
            changed = packed[:at] + bytes([value]) + packed[at + 1 :]
            agree(batch(SOME, codec=SNAPPY, packed=changed))


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_on_large_batches(codec: int) -> None:
    """Blocks of lz4 and snappy, and windows of zstd, are no longer alone."""
    chance = random.Random(codec)
    made = [
        Record(n, b"%d" % n, chance.randbytes(chance.choice([0, 5, 300])) * chance.choice([1, 9]))
        for n in range(3000)
    ]
    data = batch(made, codec=codec)
    limits = Limits(rows_max=1000, bytes_max=100_000, unpacked_bytes_max=10_000_000)
    assert disagreement([Fed(TP, ALL, data)], limits=limits) is None
    for _ in range(15):
        changed = bytearray(data)
        changed[chance.randrange(RECORDS_AT, len(data))] = chance.randrange(256)
        found = disagreement([Fed(TP, ALL, seal(changed))], limits=limits)
        assert found is None, found[:300]


@settings(max_examples=3 * settings().max_examples)
@given(st.binary(max_size=200))
def test_on_any_bytes(data: bytes) -> None:
    agree(data)


@given(feeds())
def test_the_native_one_did_the_work(one: Fed) -> None:
    """What was built without a fault never goes to the reference, but for old message sets."""
    native = NativeDecoder(LIMITS)
    assume(outcome(native, [one]).error is None)
    data, at = one.data, 0
    old = 0
    while at < len(data):
        (length,) = struct.unpack_from(">i", data, at + 8)
        old += data[at + 16] < 2
        at += 12 + length
    assert native.referred <= old
    assert (native.referred == 0) == (old == 0)


@pytest.mark.parametrize("codec", [LZ4, ZSTD])
def test_only_what_is_refused_goes_to_the_reference(codec: int) -> None:
    native = NativeDecoder(LIMITS)
    good, bad = batch(SOME, codec=codec), batch(SOME, codec=codec, packed=b"\xff" * 40)
    found = outcome(native, [Fed(TP, ALL, good + bad)])
    assert (found.error is not None, native.referred) == (True, 1)


def test_on_mutations() -> None:
    """A little of it every day, with a new seed each day; more: tests/harness/mutations.py."""
    seed = int(time.time()) // 86_400
    deadline = time.monotonic() + FUZZ_SECONDS
    for case in islice(cases(random.Random(seed)), 1_000_000):
        found = disagreement([case.fed], columns=WITH_HEADERS if case.headers else COLUMNS)
        assert found is None, f"seed {seed}, {case}: {found[:500]}"
        if time.monotonic() > deadline:
            return
