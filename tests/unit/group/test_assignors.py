from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.group.assignors import assign, in_order
from pyspark_zkgroup.model import ThreadId, TopicPartition


def threads(*names: str) -> list[ThreadId]:
    split = (name.rpartition("-") for name in names)
    return [ThreadId(consumer, int(number)) for consumer, _, number in split]


def dealt(strategy: str, order: str, sizes: dict[str, int], readers: dict[str, str]) -> list[str]:
    """`topic-partition=thread`, in the order of topics and partitions."""
    partitions = {topic: range(size) for topic, size in sizes.items()}
    takers = {topic: threads(*names.split()) for topic, names in readers.items()}
    owners = assign(strategy, order, partitions, takers)
    return [f"{partition}={owners[partition]}" for partition in sorted(owners)]


def test_range_gives_the_first_threads_one_more() -> None:
    assert dealt("range", "new", {"t": 5}, {"t": "b-0 a-1 a-0"}) == [
        *("t-0=a-0", "t-1=a-0", "t-2=a-1", "t-3=a-1", "t-4=b-0")
    ]


def test_range_counts_positions_not_numbers() -> None:
    owners = assign("range", "new", {"t": [7, 2, 30]}, {"t": threads("a-0", "a-1")})
    assert owners == {
        TopicPartition("t", 2): ThreadId("a", 0),
        TopicPartition("t", 7): ThreadId("a", 0),
        TopicPartition("t", 30): ThreadId("a", 1),
    }


def test_round_robin_deals_by_the_hash_of_its_version() -> None:
    # [x,10] comes before [x,0], but x-10 behind x-9.
    new = dealt("roundrobin", "new", {"x": 11}, {"x": "c-0 c-1"})
    old = dealt("roundrobin", "old", {"x": 11}, {"x": "c-0 c-1"})
    assert (new[0], new[10]) == ("x-0=c-0", "x-10=c-0")
    assert (old[0], old[10]) == ("x-0=c-1", "x-10=c-0")


def test_round_robin_deals_in_the_order_of_threads() -> None:
    assert dealt("roundrobin", "new", {"t": 5}, {"t": "a-0 b-0 c-0"}) == [
        *("t-0=a-0", "t-1=b-0", "t-2=c-0", "t-3=a-0", "t-4=b-0")
    ]


def test_a_thread_that_does_not_read_the_topic_loses_its_turn() -> None:
    assert dealt("roundrobin", "new", {"a": 3, "b": 2}, {"a": "c-0 d-0", "b": "d-0"}) == [
        *("a-0=c-0", "a-1=d-0", "a-2=c-0", "b-0=d-0", "b-1=d-0")
    ]


def test_colliding_topics_come_in_a_fixed_order() -> None:
    sizes, readers = {"collBB": 2, "collAa": 2}, {"collAa": "c-0 c-1", "collBB": "c-1 c-0"}
    assert dealt("roundrobin", "new", sizes, readers) == [
        *("collAa-0=c-0", "collAa-1=c-0", "collBB-0=c-1", "collBB-1=c-1")
    ]


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_nothing_to_deal(strategy: str) -> None:
    assert assign(strategy, "new", {}, {}) == {}
    assert assign(strategy, "new", {"t": []}, {"t": threads("c-0")}) == {}
    assert assign(strategy, "new", {"t": [0]}, {"t": []}) == {}
    assert assign(strategy, "new", {"t": [0]}, {"u": threads("c-0")}) == {}


def test_unknown_names_are_errors_that_list_the_known_ones() -> None:
    with pytest.raises(AssignmentError, match="range, roundrobin"):
        assign("Range", "new", {}, {})
    with pytest.raises(AssignmentError, match="old, new"):
        assign("range", "newer", {}, {})


def test_order_of_threads_is_that_of_their_text() -> None:
    found = in_order(threads("c-2", "c-10", "c-1-0", "c-1", "c-0", "c-1"))
    assert list(map(str, found)) == ["c-0", "c-1", "c-1-0", "c-10", "c-2"]
