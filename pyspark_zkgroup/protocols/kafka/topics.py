"""The topics that a member of a brokers' group knows of, and how old that knowledge is."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.group.noted_requests import places
from pyspark_zkgroup.group.snapshot import topics_of
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols.kafka.rules import absence
from pyspark_zkgroup.protocols.notes import missing_topics
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.positions import check_partitions

_LOOK_AGAIN_S = 1.0


class KafkaTopics:
    def __init__(self, options: Options, brokers: Brokers, clock: Clock) -> None:
        self.options = options
        self.brokers = brokers
        self.clock = clock
        self.hidden = options.topics.hidden
        self.numbers: Mapping[str, tuple[int, ...]] = {}
        self.looked_at = float("-inf")
        self._missing_since: dict[TopicPartition, float] = {}

    def own(self) -> list[str]:
        """Those of the subscription."""
        return sorted(self._threads())

    def subscribed(self) -> list[TopicPartition]:
        """All partitions of the subscription."""
        return [TopicPartition(t, n) for t in self.own() for n in self.numbers.get(t, ())]

    def noted(self, joined: Collection[str]) -> tuple[TopicPartition, ...]:
        """Those whose notes have requests to a member that has joined with these topics."""
        return places(joined, self.numbers)

    def missing(self) -> list[str]:
        """What the subscription names and the brokers do not have, in words."""
        return missing_topics(self.options.topics.subscription, self.own, self.numbers)

    def thread(self, partition: TopicPartition) -> int:
        """Threads are parallelism within this member; the group does not see them."""
        return partition.partition % self._threads().get(partition.topic, 1)

    def is_due(self, doubted: Collection[TopicPartition] = ()) -> bool:
        """`doubted`: partitions that a broker has said it does not know."""
        every_s = self.options.fetch.client.metadata_refresh_ms / 1000.0
        if doubted:
            every_s = min(every_s, _LOOK_AGAIN_S)
        return self.clock.monotonic() >= self.looked_at + every_s

    def look(self, doubted: Collection[TopicPartition] = ()) -> set[TopicPartition]:
        """Ask the brokers. Returns those of `doubted` that are gone for good."""
        self.numbers = dict(self.brokers.partitions())
        self.looked_at = now = self.clock.monotonic()
        self._missing_since = absence.missing_since(self._missing_since, doubted, self.numbers, now)
        return absence.gone(self._missing_since, now)

    def check_start(self) -> frozenset[str]:
        """The topics that a new query finds; OptionError where starting offsets do not fit them."""
        topics = self.own()
        check_partitions(self.options.starting, {t: self.numbers.get(t, ()) for t in topics})
        return frozenset(topics)

    def _threads(self) -> dict[str, int]:
        return dict(topics_of(self.options.topics.subscription, self.numbers, self.hidden))
