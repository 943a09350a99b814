"""Requests to brokers other than fetches: metadata, and where logs begin and end."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka import metadata, offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.wire import EARLIEST_LOCAL, LATEST, BrokerError
from pyspark_zkgroup.model import TopicPartition
from tests.contract.fetching import (
    TIMEOUT_S,
    Servers,
    settings_of,
    values,
)
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox


def test_partitions_leaders_and_the_cluster(servers: Servers, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 3)
    answer = metadata.read(cluster, [topic, "not-there"], timeout_s=TIMEOUT_S)
    assert answer.topics[topic].partitions == (0, 1, 2)
    assert set(answer.topics[topic].leaders) == {0, 1, 2}
    assert not answer.topics[topic].internal
    assert answer.missing["not-there"].unknown_topic
    assert set(answer.topics[topic].leaders.values()) <= set(answer.brokers)
    assert sorted(answer.brokers.values()) == sorted(servers.bootstrap_servers.split(","))
    assert answer.cluster_id


def test_all_topics_or_those_given(servers: Servers, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 2)
    servers.create_topic(f"{topic}-b", 1)
    named = metadata.topics(cluster, [topic, "not-there"], timeout_s=TIMEOUT_S)
    assert named == {topic: (0, 1)}
    everything = metadata.topics(cluster, timeout_s=TIMEOUT_S)
    assert everything[topic] == (0, 1)
    assert everything[f"{topic}-b"] == (0,)
    assert metadata.topics(cluster, [], timeout_s=TIMEOUT_S) == {}


def test_asking_for_a_topic_does_not_make_it(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    metadata.topics(cluster, [topic], timeout_s=TIMEOUT_S)
    assert topic not in metadata.topics(cluster, timeout_s=TIMEOUT_S)


def test_ends_of_many_logs_cost_one_request(servers: Servers, cluster: Cluster, topic: str) -> None:
    servers.create_topic(topic, 20)
    partitions = [TopicPartition(topic, n) for n in range(20)]
    produce(servers.bootstrap_servers, partitions[7], values(5))
    assert offsets.latest(cluster, partitions, timeout_s=TIMEOUT_S) == {
        tp: 5 if tp.partition == 7 else 0 for tp in partitions
    }
    before = cluster.requests
    offsets.latest(cluster, partitions, timeout_s=TIMEOUT_S)
    assert cluster.requests == before + 1
    assert set(offsets.earliest(cluster, partitions, timeout_s=TIMEOUT_S).values()) == {0}


def test_a_partition_that_is_not_there_has_no_offset(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    servers.create_topic(topic, 1)
    wanted = [TopicPartition(topic, 0), TopicPartition(topic, 1), TopicPartition("not-there", 0)]
    found = offsets.look_up(cluster, wanted, LATEST, timeout_s=TIMEOUT_S)
    assert found.found == {wanted[0]: 0}
    assert found.missing == {
        wanted[1]: offsets.Missing("its topic has 1 partitions", lasting=True),
        wanted[2]: offsets.Missing("the brokers know no such topic", lasting=True),
    }


def test_a_question_the_broker_does_not_know_is_not_asked_twice(
    real_servers: Sandbox, topic: str
) -> None:
    real_servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    cluster = Cluster(settings_of(real_servers), broker_version=(2, 0))
    try:
        found = offsets.look_up(cluster, [tp], EARLIEST_LOCAL, timeout_s=TIMEOUT_S)
        assert found.missing[tp].lasting
        assert "IncompatibleBrokerVersion" in found.missing[tp].reason
    finally:
        cluster.close()


def test_where_the_log_begins_on_the_broker_itself(
    real_servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    real_servers.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    produce(real_servers.bootstrap_servers, tp, values(3))
    assert offsets.look_up(cluster, [tp], EARLIEST_LOCAL, timeout_s=TIMEOUT_S).found == {tp: 0}


def test_the_first_offset_of_a_time_or_later(
    real_servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    real_servers.create_topic(topic, 2)
    zero, one, absent = (TopicPartition(topic, n) for n in range(3))
    for at_ms in (5000, 9000, 7000):
        produce(real_servers.bootstrap_servers, zero, values(2), timestamp_ms=at_ms)
    produce(real_servers.bootstrap_servers, one, values(1), timestamp_ms=5000)

    def at(time_ms: int) -> int | None:
        return offsets.at_times(cluster, {zero: time_ms}, timeout_s=TIMEOUT_S)[zero]

    # The records are not in the order of their times: the first one with such a time counts.
    assert [at(time_ms) for time_ms in (0, 5000, 5001, 7000, 8000, 9000)] == [0, 0, 2, 2, 2, 2]
    assert at(9001) is None
    # A separate time for each partition; one that does not exist has no answer.
    times = {zero: 6000, one: 6000, absent: 0}
    assert offsets.at_times(cluster, times, timeout_s=TIMEOUT_S) == {zero: 2, one: None}
    assert offsets.at_times(cluster, {}, timeout_s=TIMEOUT_S) == {}


def test_brokers_that_keep_no_times(real_servers: Sandbox, topic: str) -> None:
    real_servers.create_topic(topic, 2)
    times = {TopicPartition(topic, n): 5000 for n in range(2)}
    cluster = Cluster(settings_of(real_servers), broker_version=(0, 9))
    try:
        with pytest.raises(ServerError, match=rf"by timestamp in {topic}-0 and 1 "):
            offsets.at_times(cluster, times, timeout_s=TIMEOUT_S)
    finally:
        cluster.close()
    assert BrokerError(43, "UnsupportedForMessageFormat", retryable=False).keeps_no_times
