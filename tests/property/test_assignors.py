"""What holds for every assignment, whatever the group."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.group.assignors import ORDERS, STRATEGIES, Assignment, assign
from pyspark_zkgroup.model import ThreadId, TopicPartition

NAMES = st.text("abAB-._1", min_size=1, max_size=4)
Threads = dict[str, list[ThreadId]]
Partitions = dict[str, list[int]]


@st.composite
def partitions(draw: st.DrawFn) -> Partitions:
    numbers = st.lists(st.integers(0, 30), unique=True, max_size=12)
    return draw(st.dictionaries(NAMES, numbers, max_size=5))


@st.composite
def groups(draw: st.DrawFn) -> tuple[Partitions, Threads]:
    sizes = draw(partitions())
    counts = st.dictionaries(NAMES, st.integers(1, 12), max_size=4)
    readers = {topic: draw(counts) for topic in sizes}
    threads = {
        topic: [ThreadId(consumer, n) for consumer, count in takers.items() for n in range(count)]
        for topic, takers in readers.items()
    }
    return sizes, threads


@st.composite
def equal_groups(draw: st.DrawFn) -> tuple[Partitions, Threads]:
    """All members read all topics, each with the same number of threads."""
    sizes = draw(partitions())
    members = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    count = draw(st.integers(1, 12))
    takers = [ThreadId(member, number) for member in members for number in range(count)]
    return sizes, dict.fromkeys(sizes, takers)


rules = st.tuples(st.sampled_from(STRATEGIES), st.sampled_from(ORDERS))


def loads(owners: Assignment, takers: list[ThreadId]) -> list[int]:
    counted = Counter(owners.values())
    return [counted[thread] for thread in takers]


@given(rules, groups())
def test_every_partition_with_a_reader_has_exactly_one_owner_that_reads_it(
    rule: tuple[str, str], group: tuple[Partitions, Threads]
) -> None:
    sizes, threads = group
    owners = assign(*rule, sizes, threads)
    assert set(owners) == {
        TopicPartition(topic, number)
        for topic, numbers in sizes.items()
        if threads[topic]
        for number in numbers
    }
    assert all(thread in threads[partition.topic] for partition, thread in owners.items())


@given(rules, groups(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_is_of_no_account(
    rule: tuple[str, str], group: tuple[Partitions, Threads], random: object
) -> None:
    sizes, threads = group
    shuffle = random.shuffle  # type: ignore[attr-defined]
    topics = list(sizes)
    shuffle(topics)
    shuffled_sizes, shuffled_threads = {}, {}
    for topic in topics:
        shuffled_sizes[topic] = list(sizes[topic])
        shuffled_threads[topic] = list(threads[topic])
        shuffle(shuffled_sizes[topic])
        shuffle(shuffled_threads[topic])
    expected = assign(*rule, sizes, threads)
    assert assign(*rule, shuffled_sizes, shuffled_threads) == expected


@given(st.sampled_from(ORDERS), equal_groups())
def test_round_robin_is_even_where_all_read_the_same(
    order: str, group: tuple[Partitions, Threads]
) -> None:
    sizes, threads = group
    owners = assign("roundrobin", order, sizes, threads)
    for takers in threads.values():
        shares = loads(owners, takers)
        assert max(shares) - min(shares) <= 1


@given(st.sampled_from(ORDERS), groups())
def test_range_is_even_in_each_topic(order: str, group: tuple[Partitions, Threads]) -> None:
    sizes, threads = group
    owners = assign("range", order, sizes, threads)
    for topic, takers in threads.items():
        own = {each: thread for each, thread in owners.items() if each.topic == topic}
        shares = loads(own, takers)
        assert not shares or max(shares) - min(shares) <= 1
