"""Which broker leads which partition: remembered on the cluster, by the rules of leader_cache.py,
until a broker says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.kafka import access, metadata
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.leader_cache import Leader
from pyspark_zkgroup.kafka.wire import Metadata
from pyspark_zkgroup.model import Mark, TopicPartition
from pyspark_zkgroup.security.kafka_security import KafkaSecurity

_SECOND_BROKER_S = 2.0


@dataclass(frozen=True, slots=True)
class NoLeader:
    reason: str
    exists: bool
    """False when two brokers know no such partition, or the only one there is: it was deleted, or
    is so new that not all have heard of it.
    """
    refusal: AccessError | None = None
    """Where we may not know."""
    is_outdated: bool = False
    """A broker names one, of an older epoch than is known."""

    @property
    def is_doubtful(self) -> bool:
        return self.is_outdated or not self.exists


def find(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, Leader | NoLeader]:
    """The leader of each partition, or why there is none. Asks for what is not remembered."""
    wanted = list(partitions)
    now = cluster.clock.monotonic()
    unknown = {tp for tp in wanted if not cluster.leaders.is_fresh(tp, now)}
    without = _look_up(cluster, unknown, timeout_s) if unknown else {}
    return {tp: without[tp] if tp in without else cluster.leaders[tp] for tp in wanted}


def forget(cluster: Cluster, partitions: Iterable[TopicPartition]) -> None:
    for tp in partitions:
        cluster.leaders.forget(tp)


def _look_up(
    cluster: Cluster, unknown: set[TopicPartition], timeout_s: float
) -> dict[TopicPartition, NoLeader]:
    """Those for which there is none; the others are remembered."""
    topics = {tp.topic for tp in unknown}
    last = cluster.leaders.asked_last(unknown)
    try:
        answer = metadata.read(cluster, topics, timeout_s=timeout_s, last=last)
    except ServerError:
        if unknown <= cluster.leaders.keys():
            return {}  # they were only old: whether they still lead, they say themselves
        raise
    cluster.leaders.heard(answer.broker, answer.brokers)
    without = _learn(cluster, unknown, answer)
    # Two answers that one broker alone may give, since it lags.
    doubtful = {tp for tp, why in without.items() if why.is_doubtful}
    if not doubtful or answer.broker is None or len(answer.brokers) == 1:
        return without
    topics, left_s = {tp.topic for tp in doubtful}, min(timeout_s, _SECOND_BROKER_S)
    try:
        second = metadata.read(cluster, topics, timeout_s=left_s, last={answer.broker})
    except ServerError:
        return without
    kept = {tp: why for tp, why in without.items() if tp not in doubtful}
    return kept | _learn(cluster, doubtful, second)


def _learn(
    cluster: Cluster, unknown: set[TopicPartition], answer: Metadata
) -> dict[TopicPartition, NoLeader]:
    now = cluster.clock.monotonic()
    refused: set[TopicPartition] = set()
    # Of whole topics: the next task of this process is given another partition.
    for name, topic in answer.topics.items():
        for number, node in topic.leaders.items():
            tp = TopicPartition(name, number)
            leader = Leader(node, Mark(topic.epochs.get(number, -1), topic.id), now)
            if not cluster.leaders.learn(tp, leader):
                refused.add(tp)
    found = {tp: _missing(answer, tp, cluster.settings.security) for tp in unknown - refused}
    without = {tp: why for tp, why in found.items() if why is not None}
    outdated = NoLeader("the brokers name a leader of an older epoch", True, is_outdated=True)
    return without | dict.fromkeys(refused & unknown, outdated)


def _missing(answer: Metadata, tp: TopicPartition, security: KafkaSecurity) -> NoLeader | None:
    topic = answer.topics.get(tp.topic)
    if topic is None:
        error = answer.missing.get(tp.topic)
        if error is None or error.unknown_topic:
            return NoLeader("the brokers know no such topic", exists=False)
        refused = error.topic_refused
        refusal = access.topic_refused(security, tp.topic, "Describe") if refused else None
        return NoLeader(f"the brokers do not give its topic: {error}", exists=True, refusal=refusal)
    if tp.partition not in topic.partitions:
        return NoLeader(f"its topic has {len(topic.partitions)} partitions", exists=False)
    if tp.partition not in topic.leaders:
        return NoLeader("it has no leader at the moment", exists=True)
    return None
