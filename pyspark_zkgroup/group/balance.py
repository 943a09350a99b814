"""Equal shares: two members with equally many threads differ by at most one partition.

Partitions are shared out to members first, in proportion to their threads, then each member's share
to its threads. If they were shared out to threads at once, a member with as many threads as there
are partitions would keep all of them when another member joins. A partition moves only if the
shares are uneven without the move.

Partitions without an owner go to the takers with the smallest share that read their topic. Then
partitions are passed on, as long as some taker can receive one (directly or through others) and
still have less than the giver has now. When no such path is left, no assignment is more even.
Topics with the same readers are treated together, so a group of one subscription needs one search
for each partition that moves.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from pyspark_zkgroup.group.assignors import Assignment
from pyspark_zkgroup.jvm.java_order import compare_key
from pyspark_zkgroup.model import ThreadId, TopicPartition

BALANCED = "balanced"
"""The name that users give it: a value of partition.assignment.strategy."""
STICKY = "sticky"
"""The name that a member with a coordinator gives it in its registration."""

Taker = TypeVar("Taker", bound=Hashable)


def balanced(
    partitions: Mapping[str, Sequence[int]],
    threads: Mapping[str, Sequence[ThreadId]],
    current: Mapping[TopicPartition, ThreadId],
) -> Assignment:
    """Return the thread of each partition.

    `current` may name threads and partitions that are gone. A topic without partitions or without
    threads is left out.
    """
    # Topics with the same readers often share one sequence: computing each once saves most work.
    by_sequence = {id(takers): _by_member(takers) for takers in threads.values()}
    members = {id_: tuple(found) for id_, found in by_sequence.items()}
    weights: dict[str, int] = {}
    for found in by_sequence.values():
        for member, own in found.items():
            weights[member] = max(weights.get(member, 0), len(own))
    shares = _share_out(
        partitions,
        {topic: members[id(takers)] for topic, takers in threads.items()},
        {partition: thread.consumer for partition, thread in current.items()},
        compare_key,
        weights,
    )
    parts: dict[str, dict[str, list[int]]] = {}
    for partition in sorted(shares):
        topics = parts.setdefault(shares[partition], {})
        topics.setdefault(partition.topic, []).append(partition.partition)
    owners: Assignment = {}
    for member, topics in parts.items():
        readers = {topic: by_sequence[id(threads[topic])][member] for topic in topics}
        owners |= _share_out(topics, readers, current, _by_number, {})
    return owners


def _by_member(takers: Sequence[ThreadId]) -> dict[str, list[ThreadId]]:
    found: dict[str, list[ThreadId]] = {}
    for thread in takers:
        found.setdefault(thread.consumer, []).append(thread)
    return found


def _by_number(thread: ThreadId) -> int:
    return thread.number


def _share_out(
    partitions: Mapping[str, Sequence[int]],
    takers: Mapping[str, Sequence[Taker]],
    current: Mapping[TopicPartition, Taker],
    key: Callable[[Taker], Any],
    weights: Mapping[Taker, int],
) -> dict[TopicPartition, Taker]:
    """Share out partitions to takers, which `key` orders: the first of equals gets what is left.

    A taker without a weight counts as one.
    """
    deal = _Deal(takers, current, key, weights)
    free: list[TopicPartition] = []
    for topic in sorted(takers):
        crowd = deal.crowd_of(topic)
        if crowd is None:
            continue
        for number in sorted(set(partitions.get(topic, ()))):
            partition = TopicPartition(topic, number)
            owner = current.get(partition)
            if owner is not None and owner in deal.members[crowd]:
                deal.put(partition, owner, crowd)
            else:
                free.append(partition)
    deal.give(free)
    deal.level()
    return deal.owners()


class _Deal(Generic[Taker]):
    """Takers and the partitions they have. A crowd is a set of takers that read the same topics."""

    def __init__(
        self,
        readers: Mapping[str, Sequence[Taker]],
        current: Mapping[TopicPartition, Taker],
        key: Callable[[Taker], Any],
        weights: Mapping[Taker, int],
    ) -> None:
        self.current = current
        # Topics with the same readers often share one sequence: computing each once saves most
        # work.
        by_sequence = {id(takers): takers for takers in readers.values() if takers}
        every = sorted({taker for takers in by_sequence.values() for taker in takers}, key=key)
        self.rank = {taker: rank for rank, taker in enumerate(every)}
        self.load = dict.fromkeys(every, 0)
        self.weights = {taker: weights.get(taker, 1) for taker in every}
        self.crowds: list[list[Taker]] = []
        self.members: list[frozenset[Taker]] = []
        self._known: dict[frozenset[Taker], int] = {}
        crowds = {key: self._crowd(takers) for key, takers in by_sequence.items()}
        self._topics = {t: crowds[id(takers)] for t, takers in readers.items() if takers}
        # Per taker and crowd: partitions that the taker had before, and partitions new to it.
        self.kept: dict[Taker, dict[int, list[TopicPartition]]] = {t: {} for t in every}
        self.fresh: dict[Taker, dict[int, list[TopicPartition]]] = {t: {} for t in every}

    def crowd_of(self, topic: str) -> int | None:
        return self._topics.get(topic)

    def _crowd(self, takers: Sequence[Taker]) -> int:
        key = frozenset(takers)
        if key not in self._known:
            self._known[key] = len(self.crowds)
            self.crowds.append(sorted(key, key=self.rank.__getitem__))
            self.members.append(key)
        return self._known[key]

    def put(self, partition: TopicPartition, taker: Taker, crowd: int) -> None:
        pile = self.kept if self.current.get(partition) == taker else self.fresh
        pile[taker].setdefault(crowd, []).append(partition)
        self.load[taker] += 1

    def share(self, taker: Taker, more: int = 0) -> float:
        return (self.load[taker] + more) / self.weights[taker]

    def give(self, free: Sequence[TopicPartition]) -> None:
        """Give away topics with few readers first: the other topics can still make way for them."""
        crowds = {p: self._topics[p.topic] for p in free}
        heaps: dict[int, list[tuple[float, int, Taker]]] = {}
        for partition in sorted(free, key=lambda p: (len(self.crowds[crowds[p]]), p)):
            crowd = crowds[partition]
            if crowd not in heaps:
                heaps[crowd] = [(self.share(t, 1), self.rank[t], t) for t in self.crowds[crowd]]
                heapq.heapify(heaps[crowd])
            heap = heaps[crowd]
            # Shares only grow here, so an outdated entry is too small. It is replaced before its
            # use.
            while heap[0][0] != self.share(heap[0][2], 1):
                _, rank, taker = heap[0]
                heapq.heapreplace(heap, (self.share(taker, 1), rank, taker))
            self.put(partition, heap[0][2], crowd)

    def level(self) -> None:
        """Pass partitions on, always from the taker with the largest share.

        In another order a taker could give away a partition that it gets back later.
        """
        # If no path leads from a giver to a taker with less, then none leads there from any taker
        # that the search reached and that has no more than the giver. Later moves do not change
        # this: they come from takers with no more, so they cannot end there.
        hopeless: dict[Taker, float] = {}
        least = min((self.share(taker, 1) for taker in self.load), default=0.0)
        heap = [(-self.share(t), self.rank[t], t) for t in self.load]
        heapq.heapify(heap)
        while heap:
            minus_share, _, giver = heapq.heappop(heap)
            if -minus_share != self.share(giver) or hopeless.get(giver, 0) >= -minus_share:
                continue
            if -minus_share <= least:
                return
            taker, reached = self._pass_on(giver)
            if taker is None:
                for other in reached:
                    hopeless[other] = max(hopeless.get(other, 0), -minus_share)
            else:
                for changed in (giver, taker):
                    heapq.heappush(heap, (-self.share(changed), self.rank[changed], changed))

    def _pass_on(self, source: Taker) -> tuple[Taker | None, Collection[Taker]]:
        """Pass one partition along the shortest path to a taker that then has less than `source`
        now.

        Returns that taker, or None and all takers that the search reached.
        """
        reached: dict[Taker, tuple[Taker, int]] = {source: (source, -1)}
        seen: set[int] = set()
        level = [source]
        while level:
            found: list[Taker] = []
            for taker in level:
                for crowd in sorted(self._crowds_held(taker) - seen):
                    seen.add(crowd)
                    for other in self.crowds[crowd]:
                        if other not in reached:
                            reached[other] = (taker, crowd)
                            found.append(other)
            lower = [t for t in found if self.share(t, 1) < self.share(source)]
            if lower:
                least = min(lower, key=lambda t: (self.share(t, 1), self.rank[t]))
                self._shift(least, reached)
                return least, ()
            level = found
        return None, reached.keys()

    def _crowds_held(self, taker: Taker) -> set[int]:
        return {
            crowd
            for pile in (self.kept[taker], self.fresh[taker])
            for crowd, partitions in pile.items()
            if partitions
        }

    def _shift(self, last: Taker, reached: Mapping[Taker, tuple[Taker, int]]) -> None:
        taker = last
        while True:
            giver, crowd = reached[taker]
            if crowd < 0:
                return
            # Prefer a partition that is new to the giver: moving it costs nothing.
            pile = self.fresh[giver].get(crowd) or self.kept[giver][crowd]
            partition = pile.pop()
            self.load[giver] -= 1
            self.put(partition, taker, crowd)
            taker = giver

    def owners(self) -> dict[TopicPartition, Taker]:
        return {
            partition: taker
            for piles in (self.kept, self.fresh)
            for taker, crowds in piles.items()
            for pile in crowds.values()
            for partition in pile
        }
