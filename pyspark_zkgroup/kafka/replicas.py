"""Which broker is asked for a partition's records: its leader, or a replica nearer to the client.

A client that names its rack asks the leader first. The leader then answers without records and
names a replica in that rack, from which records are fetched for a while. Whatever goes wrong with
it sends the client back to the leader, who may name another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pyspark_zkgroup.kafka import leaders
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.leader_cache import Leader
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.model import TopicPartition

# As long as Kafka's clients keep to one without asking the leader again (metadata.max.age.ms).
_KEPT_S = 300.0


def find(
    cluster: Cluster, partitions: Iterable[TopicPartition], *, timeout_s: float
) -> dict[TopicPartition, Leader | NoLeader]:
    """The broker to ask for each partition, or why there is none."""
    found = leaders.find(cluster, partitions, timeout_s=timeout_s)
    now = cluster.clock.monotonic()
    for tp, leader in found.items():
        near, until = cluster.near_replicas.get(tp, (0, 0.0))
        if now < until and not isinstance(leader, NoLeader):
            found[tp] = replace(leader, node=near)
    return found


def prefer(cluster: Cluster, partition: TopicPartition, node: int) -> None:
    cluster.near_replicas[partition] = node, cluster.clock.monotonic() + _KEPT_S


def is_preferred(cluster: Cluster, partition: TopicPartition) -> bool:
    return partition in cluster.near_replicas


def forget(cluster: Cluster, partitions: Iterable[TopicPartition]) -> None:
    """The leader with it: what is wrong may be what is known of the partition at all."""
    named = list(partitions)
    leaders.forget(cluster, named)
    for tp in named:
        cluster.near_replicas.pop(tp, None)
