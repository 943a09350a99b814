"""The records of the bench are as documented, and both decoders read them."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.records.reference import ReferenceDecoder
from tests.bench.cases import CODECS, SIZES
from tests.bench.decode import decode, limits
from tests.bench.payload import at_offset, event, packed, plain_batches
from tests.harness.record_batches import CODECS as NUMBERS
from tests.harness.record_batches import compress


def pack(codec: str, data: bytes) -> bytes:
    return compress(NUMBERS[codec], data)


@pytest.mark.parametrize("record_bytes", [100, 1_000, 10_000, 300_000])
def test_key_and_value_have_that_size_together(record_bytes: int) -> None:
    chance = random.Random(0)
    for _ in range(20):
        key, value = event(chance, record_bytes)
        assert len(key or b"") + len(value or b"") == record_bytes


def test_a_batch_compresses_as_records_of_services_do_and_each_is_another() -> None:
    first, second = plain_batches(1_000, 64, distinct=2)

    assert first != second
    smaller = len(first) / len(pa.compress(first, codec="zstd"))
    assert 1.5 < smaller < 5


@pytest.mark.parametrize("codec", CODECS)
def test_batches_are_read_back_at_their_offsets(codec: str) -> None:
    batches = [packed(batch, codec, pack) for batch in plain_batches(100, 10, distinct=2)]
    data = b"".join(at_offset(batch, 10 * n) for n, batch in enumerate(batches))
    decoder = ReferenceDecoder(limits())
    partition = TopicPartition("t", 0)

    found = [*decoder.feed(partition, OffsetRange(0, 20), memoryview(data)), *decoder.finish()]

    assert [o for batch in found for o in batch.column("offset").to_pylist()] == list(range(20))


@pytest.mark.parametrize("codec", CODECS)
def test_decoding_alone_counts_every_row(codec: str) -> None:
    found = decode(SIZES[0], codec, pack, rows=2_000, rounds=2)

    assert found.rows == 2_000 // 655 * 655
    assert len(found.seconds) == 2
    assert found.rows_s > 0
