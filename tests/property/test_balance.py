"""Equal shares: every partition has an owner, shares are even, and nothing moves without need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.group.assignors import Assignment
from pyspark_zkgroup.group.balance import balanced
from pyspark_zkgroup.model import ThreadId, TopicPartition

TOPICS = ("a", "b", "c")
SIZES = st.fixed_dictionaries(dict.fromkeys(TOPICS, st.integers(0, 9)))
COUNTS = st.dictionaries(st.sampled_from(["m1", "m2", "m3", "m4"]), st.integers(1, 3), max_size=4)
READERS = st.fixed_dictionaries(dict.fromkeys(TOPICS, COUNTS))

Sizes = dict[str, int]
Threads = dict[str, list[ThreadId]]


def partitions_of(sizes: Sizes) -> dict[str, range]:
    return {topic: range(size) for topic, size in sizes.items()}


def threads_of(readers: Mapping[str, Mapping[str, int]]) -> Threads:
    return {
        topic: [ThreadId(member, n) for member, count in counts.items() for n in range(count)]
        for topic, counts in readers.items()
    }


def unevenness(owners: Assignment) -> int:
    """The sum of the squares of all members' loads: the less, the more even."""
    return sum(load * load for load in members_loads(owners).values())


def weights_of(readers: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for counts in readers.values():
        for member, count in counts.items():
            found[member] = max(count, found.get(member, 0))
    return found


def members_loads(owners: Assignment) -> Counter[str]:
    return Counter(thread.consumer for thread in owners.values())


def least_unevenness(sizes: Sizes, threads: Mapping[str, Sequence[ThreadId]]) -> int:
    """By brute search for paths: pass one on until no taker has two more than a reachable one."""
    owners = {
        TopicPartition(topic, n): threads[topic][0]
        for topic, size in sizes.items()
        if threads[topic]
        for n in range(size)
    }
    every = sorted({t for takers in threads.values() for t in takers}, key=str)
    while True:
        load = Counter(owners.values())
        for source in sorted(every, key=lambda t: -load[t]):
            came_by: dict[ThreadId, TopicPartition] = {}
            stack = [source]
            while stack:
                at = stack.pop()
                for partition in [p for p, t in owners.items() if t == at]:
                    for other in threads[partition.topic]:
                        if other != source and other not in came_by:
                            came_by[other] = partition
                            stack.append(other)
            lower = [t for t in came_by if load[t] <= load[source] - 2]
            if lower:
                taker = lower[0]
                while taker != source:
                    partition = came_by[taker]
                    giver = owners[partition]
                    owners[partition] = taker
                    taker = giver
                break
        else:
            return unevenness(owners)


@given(SIZES, READERS, READERS)
def test_every_partition_has_an_owner_and_no_single_move_makes_shares_more_even(
    sizes: Sizes,
    before: dict[str, dict[str, int]],
    now: dict[str, dict[str, int]],
) -> None:
    current = balanced(partitions_of(sizes), threads_of(before), {})
    threads = threads_of(now)
    owners = balanced(partitions_of(sizes), threads, current)
    assert set(owners) == {
        TopicPartition(t, n) for t, size in sizes.items() if threads[t] for n in range(size)
    }
    assert all(thread in threads[partition.topic] for partition, thread in owners.items())
    loads, weights = members_loads(owners), weights_of(now)
    for partition, thread in owners.items():
        for other in {t.consumer for t in threads[partition.topic]} - {thread.consumer}:
            after = Fraction(loads[other] + 1, weights[other])
            assert after >= Fraction(loads[thread.consumer], weights[thread.consumer])


@given(SIZES, READERS, READERS)
def test_with_as_many_threads_no_assignment_is_more_even(
    sizes: Sizes,
    before: dict[str, dict[str, int]],
    now: dict[str, dict[str, int]],
) -> None:
    alike = {topic: dict.fromkeys(counts, 3) for topic, counts in now.items()}
    current = balanced(partitions_of(sizes), threads_of(before), {})
    owners = balanced(partitions_of(sizes), threads_of(alike), current)
    first = threads_of({topic: dict.fromkeys(counts, 1) for topic, counts in now.items()})
    assert unevenness(owners) == least_unevenness(sizes, first)


@given(SIZES, COUNTS)
def test_threads_of_one_member_differ_by_at_most_one(sizes: Sizes, counts: dict[str, int]) -> None:
    owners = balanced(partitions_of(sizes), threads_of(dict.fromkeys(TOPICS, counts)), {})
    loads = Counter(owners.values())
    for member, count in counts.items():
        own = [loads[ThreadId(member, n)] for n in range(count)]
        assert max(own) - min(own) <= 1


@pytest.mark.parametrize("members", [2, 3, 5])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 7, 12])
def test_members_that_join_one_after_the_other_have_equal_shares(members: int, count: int) -> None:
    """Each has as many threads as there are partitions: the first one could keep them all."""
    owners: Assignment = {}
    for present in range(1, members + 1):
        takers = [ThreadId(f"m{n}", thread) for n in range(present) for thread in range(4)]
        owners = balanced({"t": range(count)}, {"t": takers}, owners)
        shares = [members_loads(owners)[f"m{n}"] for n in range(present)]
        assert sum(shares) == count
        assert max(shares) - min(shares) <= 1


@given(SIZES, READERS)
def test_an_even_assignment_stays(sizes: Sizes, readers: dict[str, dict[str, int]]) -> None:
    threads = threads_of(readers)
    once = balanced(partitions_of(sizes), threads, {})
    assert balanced(partitions_of(sizes), threads, once) == once


@given(SIZES, COUNTS, st.integers(1, 3))
def test_a_newcomer_takes_its_share_and_nothing_else_moves(
    sizes: Sizes, counts: dict[str, int], own: int
) -> None:
    before = threads_of(dict.fromkeys(TOPICS, counts))
    after = threads_of({topic: {**counts, "new": own} for topic in TOPICS})
    current = balanced(partitions_of(sizes), before, {})
    owners = balanced(partitions_of(sizes), after, current)
    moved = {p for p, thread in current.items() if owners[p].consumer != thread.consumer}
    assert all(owners[p].consumer == "new" for p in moved)
    # No more than its share, and that is what an even assignment gives it at the least.
    total, slots = len(owners), sum(counts.values()) + own
    assert members_loads(owners)["new"] <= own * -(-total // slots)


@given(SIZES, COUNTS.filter(lambda counts: len(counts) > 1))
def test_what_one_left_is_all_that_moves(sizes: Sizes, counts: dict[str, int]) -> None:
    gone, *_ = sorted(counts)
    left = {member: count for member, count in counts.items() if member != gone}
    current = balanced(partitions_of(sizes), threads_of(dict.fromkeys(TOPICS, counts)), {})
    owners = balanced(partitions_of(sizes), threads_of(dict.fromkeys(TOPICS, left)), current)
    stayed = {p: t for p, t in current.items() if t.consumer != gone}
    assert {p: owners[p].consumer for p in stayed} == {p: t.consumer for p, t in stayed.items()}


def test_one_passes_through_another_to_make_it_even() -> None:
    """a has three of x, which b reads too; b also has one of y, which c reads too."""
    a, b, c = (ThreadId(name, 0) for name in "abc")
    threads = {"x": [a, b], "y": [b, c]}
    current = {TopicPartition("x", n): a for n in range(3)}
    current |= {TopicPartition("y", n): b for n in range(2)}
    owners = balanced({"x": range(3), "y": range(2)}, threads, current)
    assert sorted(Counter(owners.values()).values()) == [1, 2, 2]
    owners = balanced(
        {"x": range(3), "y": range(3)}, threads, {**current, TopicPartition("y", 2): c}
    )
    assert Counter(owners.values()) == {a: 2, b: 2, c: 2}


def test_unread_partitions_move_first() -> None:
    """a has one of x and is given two more; one of these passes on, so that c gets something."""
    a, b, c = (ThreadId(name, 0) for name in "abc")
    threads = {"x": [a, b], "y": [b, c]}
    current = {TopicPartition("x", 0): a} | {TopicPartition("y", n): b for n in range(3)}
    owners = balanced({"x": range(3), "y": range(3)}, threads, current)
    assert Counter(owners.values()) == {a: 2, b: 2, c: 2}
    assert owners[TopicPartition("x", 0)] == a


def test_a_large_group_takes_no_time() -> None:
    """500 members, 10,000 partitions, one more joins: what moves is its share."""
    counts = {f"m{n:03}": 2 for n in range(500)}
    sizes = {f"t{n}": range(10) for n in range(1000)}
    takers = [ThreadId(member, n) for member in counts for n in range(2)]
    current = balanced(sizes, dict.fromkeys(sizes, takers), {})
    more = [*takers, ThreadId("new", 0), ThreadId("new", 1)]
    owners = balanced(sizes, dict.fromkeys(sizes, more), current)
    assert len([p for p, t in owners.items() if current[p].consumer != t.consumer]) == 19
