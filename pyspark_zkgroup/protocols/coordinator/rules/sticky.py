"""Sticky and balanced: each partition stays where it is unless that makes the threads uneven.

Partitions without a thread go to the least loaded ones that read their topic. Then, as long as a
thread has two more than another that could take one, directly or through others, one is passed on:
when no such path is left, no assignment is more even. Threads of topics with the same readers are
looked at together, so a group of one subscription costs one look for each partition that moves.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence

from pyspark_zkgroup.group.assignors import Assignment, in_order
from pyspark_zkgroup.model import ThreadId, TopicPartition

STICKY = "sticky"
"""As a member that is told by a coordinator calls it in its registration."""


def assign_sticky(
    partitions: Mapping[str, Sequence[int]],
    threads: Mapping[str, Sequence[ThreadId]],
    current: Mapping[TopicPartition, ThreadId],
) -> Assignment:
    """The thread of each partition. `current` may name threads and partitions that are gone; a
    topic without partitions or without threads is left out.
    """
    deal = _Deal(threads, current)
    free: list[TopicPartition] = []
    for topic in sorted(threads):
        crowd = deal.crowd_of(topic)
        if crowd is None:
            continue
        for number in sorted(set(partitions.get(topic, ()))):
            partition = TopicPartition(topic, number)
            thread = current.get(partition)
            if thread is not None and thread in deal.members[crowd]:
                deal.put(partition, thread, crowd)
            else:
                free.append(partition)
    deal.give(free)
    deal.level()
    return deal.assignment()


class _Deal:
    """Threads and what they have. A crowd is a set of threads that read the same topics."""

    def __init__(
        self, threads: Mapping[str, Sequence[ThreadId]], current: Mapping[TopicPartition, ThreadId]
    ) -> None:
        self.current = current
        # All first threads come before all second ones: what is left over after an even deal is
        # spread over the members.
        every = in_order(thread for takers in threads.values() for thread in takers)
        every.sort(key=lambda thread: thread.number)
        self.rank = {thread: rank for rank, thread in enumerate(every)}
        self.load = dict.fromkeys(every, 0)
        self.crowds: list[list[ThreadId]] = []
        self.members: list[frozenset[ThreadId]] = []
        self._known: dict[frozenset[ThreadId], int] = {}
        # Topics with the same readers often share one sequence: that saves most of this.
        by_sequence = {id(takers): takers for takers in threads.values() if takers}
        crowds = {key: self._crowd(takers) for key, takers in by_sequence.items()}
        self._topics = {t: crowds[id(takers)] for t, takers in threads.items() if takers}
        # Per thread and crowd: what it has had before, and what it has not.
        self.kept: dict[ThreadId, dict[int, list[TopicPartition]]] = {t: {} for t in every}
        self.fresh: dict[ThreadId, dict[int, list[TopicPartition]]] = {t: {} for t in every}

    def crowd_of(self, topic: str) -> int | None:
        return self._topics.get(topic)

    def _crowd(self, takers: Sequence[ThreadId]) -> int:
        key = frozenset(takers)
        if key not in self._known:
            self._known[key] = len(self.crowds)
            self.crowds.append(sorted(key, key=self.rank.__getitem__))
            self.members.append(key)
        return self._known[key]

    def put(self, partition: TopicPartition, thread: ThreadId, crowd: int) -> None:
        had = self.current.get(partition)
        is_kept = had is not None and had.consumer == thread.consumer
        pile = self.kept if is_kept else self.fresh
        pile[thread].setdefault(crowd, []).append(partition)
        self.load[thread] += 1

    def give(self, free: Sequence[TopicPartition]) -> None:
        """Topics with few readers first: the others can still make way for them."""
        crowds = {p: self._topics[p.topic] for p in free}
        heaps: dict[int, list[tuple[int, int, ThreadId]]] = {}
        for partition in sorted(free, key=lambda p: (len(self.crowds[crowds[p]]), p)):
            crowd = crowds[partition]
            if crowd not in heaps:
                heaps[crowd] = [(self.load[t], self.rank[t], t) for t in self.crowds[crowd]]
                heapq.heapify(heaps[crowd])
            heap = heaps[crowd]
            # Loads only grow here: an entry that is out of date is too small, and is put right.
            while heap[0][0] != self.load[heap[0][2]]:
                _, rank, thread = heap[0]
                heapq.heapreplace(heap, (self.load[thread], rank, thread))
            self.put(partition, heap[0][2], crowd)

    def level(self) -> None:
        """Always from whoever has most, or one would give away what it gets back from another."""
        # From whom nothing leads to a thread with less, nothing leads either for whoever was
        # reached on the way and has no more. Later moves do not change that: they come from threads
        # with no more, so they cannot end there.
        hopeless: dict[ThreadId, int] = {}
        least = min(self.load.values(), default=0)
        heap = [(-load, self.rank[t], t) for t, load in self.load.items()]
        heapq.heapify(heap)
        while heap:
            minus_load, _, thread = heapq.heappop(heap)
            if -minus_load != self.load[thread] or hopeless.get(thread, 0) >= -minus_load:
                continue
            if -minus_load <= least + 1:
                return
            taker, reached = self._pass_on(thread)
            if taker is None:
                for other in reached:
                    hopeless[other] = max(hopeless.get(other, 0), -minus_load)
            else:
                for changed in (thread, taker):
                    heapq.heappush(heap, (-self.load[changed], self.rank[changed], changed))

    def _pass_on(self, source: ThreadId) -> tuple[ThreadId | None, Collection[ThreadId]]:
        """Pass one partition along the shortest path to a thread that has two less. Who has one
        more now, or None and all threads that were reached in vain.
        """
        reached: dict[ThreadId, tuple[ThreadId, int]] = {source: (source, -1)}
        seen: set[int] = set()
        level = [source]
        while level:
            found: list[ThreadId] = []
            for thread in level:
                for crowd in sorted(self._crowds_held(thread) - seen):
                    seen.add(crowd)
                    for other in self.crowds[crowd]:
                        if other not in reached:
                            reached[other] = (thread, crowd)
                            found.append(other)
            lower = [t for t in found if self.load[t] <= self.load[source] - 2]
            if lower:
                # Between threads of one member nothing has to be stopped.
                least = min(
                    lower,
                    key=lambda t: (self.load[t], t.consumer != source.consumer, self.rank[t]),
                )
                self._shift(least, reached)
                return least, ()
            level = found
        return None, reached.keys()

    def _crowds_held(self, thread: ThreadId) -> set[int]:
        return {
            crowd
            for pile in (self.kept[thread], self.fresh[thread])
            for crowd, partitions in pile.items()
            if partitions
        }

    def _shift(self, last: ThreadId, reached: Mapping[ThreadId, tuple[ThreadId, int]]) -> None:
        taker = last
        while True:
            giver, crowd = reached[taker]
            if crowd < 0:
                return
            # What it has not had before moves for nothing.
            pile = self.fresh[giver].get(crowd) or self.kept[giver][crowd]
            partition = pile.pop()
            self.load[giver] -= 1
            self.put(partition, taker, crowd)
            taker = giver

    def assignment(self) -> Assignment:
        return {
            partition: thread
            for piles in (self.kept, self.fresh)
            for thread, crowds in piles.items()
            for pile in crowds.values()
            for partition in pile
        }
