from __future__ import annotations

import pytest

from pyspark_zkgroup.kafka.samples import sample_of
from pyspark_zkgroup.kafka.wire import FetchedPartition
from pyspark_zkgroup.model import Sample, TopicPartition
from tests.harness.record_batches import GZIP, Record, batch, old_messages

FIRST = batch([Record(10), Record(11), Record(12), Record(19)])
SECOND = batch([Record(20)], last_offset=29)  # its tail was compacted away


def sample(data: bytes, position: int, *, end: int = 1000, is_first: bool = True) -> Sample | None:
    fetched = FetchedPartition(TopicPartition("t", 0), None, end, memoryview(data))
    return sample_of(fetched, position, is_first=is_first)


def test_whole_batches_with_all_their_offsets() -> None:
    assert sample(FIRST + SECOND, 10) == Sample(20, len(FIRST + SECOND))
    assert sample(FIRST + SECOND[:40], 10) == Sample(10, len(FIRST))


def test_a_batch_that_begins_before_the_position_counts_for_the_rest_of_it() -> None:
    """Else small records already read would hide the large ones that are next."""
    assert sample(FIRST, 18) == Sample(2, len(FIRST) - len(FIRST) * 8 // 10)
    assert sample(FIRST + SECOND, 15) == Sample(15, len(FIRST + SECOND) - len(FIRST) // 2)


def test_offsets_that_are_gone_take_no_bytes() -> None:
    assert sample(SECOND, 13) == Sample(17, len(SECOND))
    assert sample(b"", 13, end=500) == Sample(487, 1)


def test_nothing_is_known_of_a_partition_that_others_left_no_room_for() -> None:
    assert sample(b"", 13, end=500, is_first=False) is None


def test_nothing_is_known_at_the_end_of_a_log() -> None:
    assert sample(b"", 13, end=13) is None
    assert sample(b"", 13, end=-1) is None


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages(magic: int) -> None:
    plain = old_messages([Record(5), Record(6), Record(9)], magic=magic)
    assert sample(plain, 5) == Sample(5, len(plain))
    packed = old_messages([Record(5), Record(6), Record(9)], magic=magic, codec=GZIP)
    assert sample(packed, 5) == Sample(5, len(packed))


@pytest.mark.parametrize("size", [12, 40])
def test_an_old_message_that_is_cut_short_is_known_by_its_head(size: int) -> None:
    packed = old_messages([Record(n) for n in range(5, 95)], magic=1, codec=GZIP)
    assert sample(packed[:size], 5) == Sample(90, len(packed))


@pytest.mark.parametrize("data", [FIRST[:11], FIRST[:16] + b"\x07" + FIRST[17:]])
def test_what_cannot_be_is_left_to_the_task(data: bytes) -> None:
    assert sample(data, 10) is None
