"""The brokers as the planner and the membership see them: each call has its own deadline."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from pyspark_zkgroup.clock import SYSTEM, Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import access, leaders, metadata, offsets, samples
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.group_offsets import GroupOffsets
from pyspark_zkgroup.kafka.known_topics import Answer, KnownTopics, TopicSeen
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import (
    BrokerMember,
    CommitRefused,
    LogEnd,
    Sample,
    StoredOffset,
    TopicPartition,
)
from pyspark_zkgroup.options import Options

# A boundary must not wait for brokers that are away: the next boundary asks again.
_TIMEOUT_S = 10.0
# Asked at every boundary: a partition whose leader is away must not delay the others for long.
_LATEST_TIMEOUT_S = 5.0
_IDS_AGE_MAX_S = 1.0


NOTHING_HELD: Final[Mapping[TopicPartition, str]] = MappingProxyType({})


class SeenTopics:
    """The topics of a cluster, by the rules of kafka/known_topics.py.

    `ask` returns one broker's answer, if possible not that of a broker that it is given.
    """

    def __init__(self, ask: Callable[[Collection[int]], Answer]) -> None:
        self._ask = ask
        self._known = KnownTopics()

    def look(self, held: Mapping[TopicPartition, str] = NOTHING_HELD) -> KnownTopics:
        """Ask one broker, and a second one only if the first denies a topic that existed before."""
        self._known = self._known.assuming(held)
        self._known = self._known.after(self._ask(()))
        denied_by = self._known.denied_by
        if denied_by:
            self._known = self._known.after(self._ask(denied_by))
        return self._known


def topics_answer(cluster: Cluster, last: Collection[int] = ()) -> Answer:
    """Ask one broker for all topics that it knows now, for SeenTopics."""
    found = metadata.read(cluster, timeout_s=_TIMEOUT_S, last=last)
    topics = {name: TopicSeen(topic.partitions, topic.id) for name, topic in found.topics.items()}
    return Answer(cluster.clock.monotonic(), found.broker, len(found.brokers), topics)


class ClusterView:
    """Connects at the first call. Addresses come from the option, or else from ZooKeeper."""

    def __init__(self, options: Options, clock: Clock = SYSTEM) -> None:
        self._options = options
        self._addresses = options.fetch.bootstrap
        self._given = bool(self._addresses)
        self._cluster: Cluster | None = None
        self._group_offsets: GroupOffsets | None = None
        self._clock = clock
        self._topics = SeenTopics(lambda last: topics_answer(self._connected(), last))

    def fetch_settings(self) -> FetchSettings:
        if not self._addresses:
            raise ServerError.of("no_brokers_known")
        return replace(self._options.fetch, bootstrap=self._addresses)

    def found(self, addresses: Collection[str]) -> None:
        if self._given or tuple(addresses) == self._addresses:
            return
        self._addresses = tuple(addresses)
        self.close()

    def partitions(self) -> Mapping[str, tuple[int, ...]]:
        found = self._topics.look().partitions
        self._refuse_hidden(found)
        return found

    def lacks(self, held: Mapping[TopicPartition, str]) -> Mapping[TopicPartition, bool]:
        # What is remembered of a partition in doubt may be wrong.
        leaders.forget(self._connected(), held)
        return self._topics.look(held).lacks(held)

    def _refuse_hidden(self, found: Collection[str]) -> None:
        """A list of all topics leaves out those that the user must not read; a named one is an
        error.
        """
        subscription = self._options.topics.subscription
        named = () if subscription.is_wildcard else dict(subscription.entries)
        unseen = [topic for topic in named if topic not in found]
        if not unseen:
            return
        answer = metadata.read(self._connected(), unseen, timeout_s=_TIMEOUT_S)
        for topic, error in sorted(answer.missing.items()):
            if error.topic_refused:
                raise access.topic_refused(self._options.fetch.security, topic, "Describe")

    def earliest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return offsets.earliest(self._connected(), partitions, timeout_s=_TIMEOUT_S)

    def latest(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        return offsets.latest(self._connected(), partitions, timeout_s=_LATEST_TIMEOUT_S)

    def log_ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogEnd]:
        cluster = self._connected()
        # A recreated topic may have the same leader in the same epoch: only its id differs, and
        # only an answer about metadata has the id. Each partition's own age counts: what is known
        # of one that was claimed just now may be old.
        old = cluster.clock.monotonic() - _IDS_AGE_MAX_S
        known = cluster.leaders
        leaders.forget(cluster, [p for p in partitions if p in known and known[p].learnt_at <= old])
        return offsets.log_ends(cluster, partitions, timeout_s=_LATEST_TIMEOUT_S)

    def epoch_ends(
        self, epochs: Mapping[TopicPartition, int]
    ) -> Mapping[TopicPartition, int | None]:
        return offsets.epoch_ends(self._connected(), epochs, timeout_s=_LATEST_TIMEOUT_S)

    def ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, int]:
        # The end that seems too low may come from a former leader.
        leaders.forget(self._connected(), partitions)
        return offsets.ends(self._connected(), partitions, timeout_s=_LATEST_TIMEOUT_S)

    def group_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        return self._group().read(partitions, timeout_s=_TIMEOUT_S)

    def commit_group_offsets(
        self, offsets: Mapping[TopicPartition, int], note: str, *, timeout_s: float
    ) -> Mapping[TopicPartition, CommitRefused]:
        return self._group().commit(offsets, note, timeout_s=timeout_s)

    def group_members(self, *, timeout_s: float) -> Collection[BrokerMember]:
        return self._group().live_members(timeout_s=timeout_s)

    def live_namesakes(self, *, timeout_s: float) -> Collection[BrokerMember]:
        return self._group().live_namesakes(timeout_s=timeout_s)

    def samples(self, positions: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, Sample]:
        return samples.take(self._connected(), positions, timeout_s=_LATEST_TIMEOUT_S)

    def at_times(self, times: Mapping[TopicPartition, int]) -> Mapping[TopicPartition, int | None]:
        return offsets.at_times(self._connected(), times, timeout_s=_TIMEOUT_S)

    def close(self) -> None:
        if self._cluster is not None:
            self._cluster.close()
            self._cluster = self._group_offsets = None

    def _group(self) -> GroupOffsets:
        if self._group_offsets is None:
            self._group_offsets = GroupOffsets(self._connected(), self._options.group.id)
        return self._group_offsets

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = Cluster(self.fetch_settings(), clock=self._clock)
        return self._cluster
