"""Which thread gets which partition: range and round-robin, exactly as the JVM members compute it.

Every member computes the whole assignment alone, so any two that disagree in one detail (the order
of threads, of partitions, of equal hashes) claim the same partition, and one of them waits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.jvm.java_order import compare_key, hash_code
from pyspark_zkgroup.model import ThreadId, TopicPartition

STRATEGIES = ("range", "roundrobin")
ORDERS = ("old", "new")
"""What round-robin hashes: `[topic,partition]` to 0.11 (old), `topic-partition` since 1.0 (new)."""

Assignment = dict[TopicPartition, ThreadId]


def assign(
    strategy: str,
    order: str,
    partitions: Mapping[str, Sequence[int]],
    threads: Mapping[str, Sequence[ThreadId]],
) -> Assignment:
    """The owner of each partition. The order in which topics, partitions and threads come is of no
    account; a topic without partitions or without threads is left out."""
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
    """Each topic alone: consecutive shares, the first threads one partition more than the rest."""
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
    """All partitions in the order of a hash, dealt in turn to all threads.

    A thread that does not read the topic loses its turn. `topics` decides between equal hashes
    (topics that collide, like "..Aa" and "..BB"): the sort is stable.
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
    """Distinct threads by their text, as the JVM sorts them: c-0, c-1, c-10, c-2."""
    return sorted(set(threads), key=order_key)


def order_key(thread: ThreadId) -> bytes:
    return compare_key(str(thread))


class _Ordered:
    """Sorts each sequence of threads once: topics read by the same members often share one."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Sequence[ThreadId], list[ThreadId]]] = {}

    def of(self, threads: Sequence[ThreadId]) -> list[ThreadId]:
        known = self._known.get(id(threads))
        if known is None:
            # The sequence is kept beside its order, so that its id is not given to another.
            known = self._known[id(threads)] = (threads, in_order(threads))
        return known[1]
