from __future__ import annotations

from pyspark_zkgroup.kafka.record_sizes import RecordSizes
from pyspark_zkgroup.model import TopicPartition

MIB = 1024 * 1024
TP = TopicPartition("t", 0)


def test_a_small_range_asks_for_little_and_a_large_one_for_all_it_may() -> None:
    sizes = RecordSizes()
    assert sizes.bytes_for(TP, 1, 4 * MIB) < 128 * 1024
    assert sizes.bytes_for(TP, 250, 4 * MIB) < MIB
    assert sizes.bytes_for(TP, 10_000_000, 4 * MIB) == 4 * MIB
    assert sizes.bytes_for(TP, 250, 1000) == 1000


def test_what_was_seen_of_a_partition_counts_for_it_alone() -> None:
    sizes = RecordSizes()
    sizes.seen(TP, 250, 2_500_000)
    assert sizes.bytes_for(TP, 250, 16 * MIB) > 2_500_000
    assert sizes.bytes_for(TopicPartition("t", 1), 250, 16 * MIB) < MIB


def test_smaller_records_are_believed_after_a_while() -> None:
    sizes = RecordSizes()
    sizes.seen(TP, 10, 1_000_000)
    sizes.seen(TP, 1000, 100_000)
    assert sizes.bytes_for(TP, 250, 64 * MIB) > MIB
    for _ in range(100):
        sizes.seen(TP, 1000, 100_000)
    assert sizes.bytes_for(TP, 250, 64 * MIB) < 128 * 1024


def test_where_no_whole_batch_came_all_may_come_the_next_time() -> None:
    sizes = RecordSizes()
    sizes.too_little(TP, 4 * MIB)
    assert sizes.bytes_for(TP, 1, 4 * MIB) == 4 * MIB
