from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.model import AbortedTransaction, OffsetRange, TopicPartition
from pyspark_zkgroup.records.decoder import Limits
from pyspark_zkgroup.records.reference import ReferenceDecoder
from tests.harness.record_batches import CONTROL_BIT, TRANSACTIONAL_BIT, Record, batch, marker

TP = TopicPartition("orders", 3)
LIMITS = Limits(rows_max=1000, bytes_max=1 << 20, unpacked_bytes_max=1 << 20)
ALL = OffsetRange(0, 1 << 40)


def committed(data: bytes, *aborted: AbortedTransaction) -> list[int]:
    decoder = ReferenceDecoder(LIMITS)
    found = [*decoder.feed(TP, ALL, memoryview(data), aborted), *decoder.finish()]
    return [offset for one in found for offset in one["offset"].to_pylist()]


def transactional(offset: int, producer_id: int, bits: int = TRANSACTIONAL_BIT) -> bytes:
    return batch([Record(offset)], attributes=bits, producer_id=producer_id)


def test_a_producer_is_aborted_from_its_first_offset_to_its_marker_and_maybe_again() -> None:
    data = (
        transactional(100, 7)
        + transactional(101, 7)
        + transactional(102, 8)
        + marker(103, 7)
        + transactional(104, 7)
        + transactional(105, 7, bits=0)
        + marker(106, 7, aborts=False)
        + transactional(107, 7)
        + marker(108, 7)
    )
    once, twice = AbortedTransaction(7, 101), AbortedTransaction(7, 107)
    assert committed(data) == [100, 101, 102, 104, 105, 107]
    assert committed(data, once) == [100, 102, 104, 105, 107]
    assert committed(data, twice, once) == [100, 102, 104, 105]


def test_what_an_aborted_producer_writes_outside_of_transactions_is_kept() -> None:
    data = transactional(100, 7) + transactional(101, 7, bits=0) + marker(102, 7)
    assert committed(data, AbortedTransaction(7, 100)) == [101]


def test_an_answer_may_begin_within_a_transaction() -> None:
    data = transactional(105, 7) + marker(106, 7) + transactional(107, 7)
    assert committed(data, AbortedTransaction(7, 90)) == [107]


def test_a_marker_that_compaction_emptied_ends_nothing() -> None:
    bits = CONTROL_BIT | TRANSACTIONAL_BIT
    emptied = batch([], base_offset=101, attributes=bits, producer_id=7)
    data = transactional(100, 7) + emptied + transactional(102, 7)
    assert committed(data, AbortedTransaction(7, 100)) == []


@pytest.mark.parametrize("key", [None, b"", b"\0\0\0", b"\xff\xff\0\0"])
def test_a_marker_without_a_type_is_an_error(key: bytes | None) -> None:
    bits = CONTROL_BIT | TRANSACTIONAL_BIT
    bad = batch([Record(101, key)], attributes=bits, producer_id=7)
    with pytest.raises(FetchError, match=r"offset 101 of orders-3: .* control record"):
        committed(transactional(100, 7) + bad, AbortedTransaction(7, 100))
