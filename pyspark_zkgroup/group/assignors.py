"""The range and round-robin assignors, which give the same result as those of the JVM members.

Every member computes the whole assignment alone. Two members that differ in one detail (the order
of threads, of partitions, of equal hashes) claim the same partition, and one of them waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.jvm.java_order import compare_key, hash_code
from pyspark_zkgroup.model import ThreadId, TopicPartition

STRATEGIES = ("range", "roundrobin")
ORDERS = ("old", "new")
"""What round-robin hashes: `[topic,partition]` up to 0.11 (old), `topic-partition` since 1.0
(new)."""

Assignment = dict[TopicPartition, ThreadId]


def assign(
    strategy: str,
    order: str,
    partitions: Mapping[str, Sequence[int]],
    threads: Mapping[str, Sequence[ThreadId]],
) -> Assignment:
    """Return the owner of each partition.

    The result does not depend on the order of topics, partitions or threads in the arguments. A
    topic without partitions or without threads is left out.
    """
    check(strategy, order)
    if strategy == "range":
        return range_assignment(partitions, threads)
    return round_robin(order, sorted(partitions, key=compare_key), partitions, threads)


def check(strategy: str, order: str) -> None:
    if strategy not in STRATEGIES:
        raise AssignmentError.of(
            "unknown_strategy", strategy=strategy, allowed=", ".join(STRATEGIES)
        )
    if order not in ORDERS:
        raise AssignmentError.of("unknown_order", order=order, allowed=", ".join(ORDERS))


def range_assignment(
    partitions: Mapping[str, Sequence[int]], threads: Mapping[str, Sequence[ThreadId]]
) -> Assignment:
    """Assign each topic alone: consecutive shares; the first threads get one partition more."""
    owners: Assignment = {}
    ordered = _Ordered()
    for topic, numbers in partitions.items():
        takers = ordered.of(threads.get(topic, ()))
        if not takers:
            continue
        ascending = sorted(set(numbers))
        share, extra = divmod(len(ascending), len(takers))
        for position, thread in enumerate(takers[: len(ascending)]):
            start = share * position + min(position, extra)
            until = start + share + (1 if position < extra else 0)
            for number in ascending[start:until]:
                owners[TopicPartition(topic, number)] = thread
    return owners


def round_robin(
    order: str,
    topics: Sequence[str],
    partitions: Mapping[str, Sequence[int]],
    threads: Mapping[str, Sequence[ThreadId]],
) -> Assignment:
    """Deal all partitions, ordered by a hash, to all threads in turn.

    A thread that does not read the topic loses its turn. The sort is stable, so the order of
    `topics` decides between equal hashes (topics that collide, like "..Aa" and "..BB").
    """
    ordered = _Ordered()
    takers = {topic: ordered.of(threads[topic]) for topic in topics if threads.get(topic)}
    readers = {id(sequence): frozenset(sequence) for sequence in takers.values()}
    cycle = in_order(thread for reading in readers.values() for thread in reading)
    key = hash_key(order)
    laid_out = [
        TopicPartition(topic, number)
        for topic in takers
        for number in sorted(set(partitions.get(topic, ())))
    ]
    laid_out.sort(key=lambda partition: hash_code(key(partition)))
    owners: Assignment = {}
    turn = 0
    for partition in laid_out:
        reading = readers[id(takers[partition.topic])]
        while cycle[turn] not in reading:
            turn = (turn + 1) % len(cycle)
        owners[partition] = cycle[turn]
        turn = (turn + 1) % len(cycle)
    return owners


def hash_key(order: str) -> Callable[[TopicPartition], str]:
    if order == "old":
        return lambda partition: f"[{partition.topic},{partition.partition}]"
    return lambda partition: f"{partition.topic}-{partition.partition}"


def in_order(threads: Iterable[ThreadId]) -> list[ThreadId]:
    """Return the distinct threads sorted by their text, as the JVM does: c-0, c-1, c-10, c-2."""
    return sorted(set(threads), key=order_key)


def order_key(thread: ThreadId) -> bytes:
    return compare_key(str(thread))


class _Ordered:
    """Sorts each sequence of threads once: topics with the same members often share one
    sequence."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Sequence[ThreadId], list[ThreadId]]] = {}

    def of(self, threads: Sequence[ThreadId]) -> list[ThreadId]:
        known = self._known.get(id(threads))
        if known is None:
            # Keep the sequence next to its order: otherwise its id could be reused by another.
            known = self._known[id(threads)] = (threads, in_order(threads))
        return known[1]
