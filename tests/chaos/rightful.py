"""Whose a partition was, by the group's own assignor, while these members were registered. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise

from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from tests.chaos.values import FOREVER, Membership, Right, Span


class Rightful:
    def __init__(
        self,
        memberships: Sequence[Membership],
        partitions: Collection[TopicPartition],
        born: Mapping[TopicPartition, float],
        options: Options,
    ) -> None:
        """`partitions`: all there were at the end. `born`: when those of them were made that were
        not there from the beginning. `options`: those of each member, for all are alike.
        """
        self._memberships = sorted(memberships, key=lambda m: m.at)
        self._changes = [m.at for m in self._memberships]
        self._born, self._options = born, options
        self._partitions = frozenset(partitions)
        self._registration = Registration(
            options.topics.subscription, "", balanced=options.group.balanced
        )
        self._target = cache(self._assigned)

    def during(self, partition: TopicPartition, span: Span) -> list[Right]:
        """One for each stretch of time with the same owner, in their order, without a hole."""
        inner = {
            at for at in [*self._changes, *self._born.values()] if span.start < at < span.until
        }
        found: list[Right] = []
        for start, until in pairwise([span.start, *sorted(inner), span.until]):
            consumer = self._owner(partition, start)
            if found and found[-1].consumer == consumer:
                start = found.pop().span.start
            found.append(Right(consumer, Span(start, until), *self._life(consumer, start)))
        return found

    def _owner(self, partition: TopicPartition, at: float) -> str:
        number = bisect_right(self._changes, at)
        if not number:
            return ""
        there = frozenset(p for p in self._partitions if self._born.get(p, at) <= at)
        return self._target(self._memberships[number - 1].consumers, there).get(partition, "")

    def _assigned(
        self, consumers: frozenset[str], partitions: frozenset[TopicPartition]
    ) -> dict[TopicPartition, str]:
        topics: dict[str, tuple[int, ...]] = {}
        for partition in sorted(partitions):
            topics[partition.topic] = (*topics.get(partition.topic, ()), partition.partition)
        group = Snapshot(dict.fromkeys(consumers, self._registration), topics)
        chosen = self._options
        threads = target(
            group, chosen.group.strategy, chosen.group.order, chosen.topics.exclude_internal
        )
        return {partition: thread.consumer for partition, thread in threads.items()}

    def _life(self, consumer: str, at: float) -> tuple[float, float]:
        """From when to when it was registered, around that time."""
        since, gone = at, FOREVER
        for membership in reversed(self._memberships[: bisect_right(self._changes, at)]):
            if consumer not in membership.consumers:
                break
            since = membership.at
        for membership in self._memberships[bisect_right(self._changes, at) :]:
            if consumer not in membership.consumers:
                gone = membership.at
                break
        return since, gone
