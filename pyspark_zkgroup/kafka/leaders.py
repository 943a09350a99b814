"""Which broker leads which partition: remembered on the cluster until a broker says otherwise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.kafka import access, metadata
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.wire import Metadata
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.kafka_security import KafkaSecurity


@dataclass(frozen=True, slots=True)
class NoLeader:
    reason: str
    exists: bool
    """False when the brokers know no such partition: it was deleted, or is so new that not all have
    heard of it.
    """
    refusal: AccessError | None = None
    """Where we may not know."""


def find(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, int | NoLeader]:
    """A broker id for each partition, or why there is none. Asks for what is not remembered."""
    wanted = list(partitions)
    unknown = {tp for tp in wanted if tp not in cluster.leaders}
    without: dict[TopicPartition, NoLeader] = {}
    if unknown:
        answer = metadata.read(cluster, {tp.topic for tp in unknown}, timeout_s=timeout_s)
        # Of whole topics: the next task of this process is given another partition.
        for name, topic in answer.topics.items():
            for number, broker in topic.leaders.items():
                cluster.leaders[TopicPartition(name, number)] = broker
        for tp in unknown:
            leader = _leader(answer, tp, cluster.settings.security)
            if not isinstance(leader, int):
                without[tp] = leader
    return {tp: without[tp] if tp in without else cluster.leaders[tp] for tp in wanted}


def forget(cluster: Cluster, partitions: Iterable[TopicPartition]) -> None:
    for tp in partitions:
        cluster.leaders.pop(tp, None)


def _leader(answer: Metadata, tp: TopicPartition, security: KafkaSecurity) -> int | NoLeader:
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
    return topic.leaders[tp.partition]
