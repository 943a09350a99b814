"""Offsets of a group in Kafka: written by zkgroup and read by others, and the reverse."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator

import pytest
from kafka.structs import OffsetAndMetadata
from kafka.structs import TopicPartition as TheirPartition

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.group_offsets import GroupOffsets
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from tests.contract.fetching import TIMEOUT_S, settings_of
from tests.harness.kept_offsets import consumer_of, live_consumer
from tests.harness.waiting import wait_until
from tests.interop import current_tools
from zkgroup_sandbox import Sandbox

NOTE = "zkgroup test"


@pytest.fixture
def name() -> str:
    return f"kept-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def live_group(real_servers: Sandbox, name: str, topic: str) -> Iterator[None]:
    real_servers.create_topic(topic, 3)
    with live_consumer(real_servers, name, topic):
        yield


def test_what_is_written_is_read_by_others(
    real_servers: Sandbox, cluster: Cluster, topic: str, name: str
) -> None:
    real_servers.create_topic(topic, 3)
    tps = [TopicPartition(topic, n) for n in range(3)]
    kept = GroupOffsets(cluster, name)
    assert kept.read(tps, timeout_s=TIMEOUT_S) == {}
    assert kept.commit({tps[0]: 7, tps[2]: 0}, NOTE, timeout_s=TIMEOUT_S) == {}
    assert kept.read(tps, timeout_s=TIMEOUT_S) == {
        tps[0]: StoredOffset(7, NOTE),
        tps[2]: StoredOffset(0, NOTE),
    }
    with consumer_of(real_servers, name) as consumer:
        assert [consumer.committed(TheirPartition(topic, n)) for n in range(3)] == [7, None, 0]
        consumer.assign([TheirPartition(topic, 0)])
        consumer.commit({TheirPartition(topic, 0): OffsetAndMetadata(9, "", -1)})
    assert kept.read(tps[:1], timeout_s=TIMEOUT_S) == {tps[0]: StoredOffset(9)}
    assert kept.live_members(timeout_s=TIMEOUT_S) == ()


@pytest.mark.parametrize("version", [(0, 9), (0, 11), (2, 0), (2, 5), (3, 0)])
def test_in_the_words_of_older_brokers(
    sandbox: Sandbox, topic: str, name: str, version: tuple[int, ...]
) -> None:
    sandbox.create_topic(topic, 1)
    tp = TopicPartition(topic, 0)
    cluster = Cluster(settings_of(sandbox), broker_version=version)
    try:
        kept = GroupOffsets(cluster, name)
        assert kept.live_members(timeout_s=TIMEOUT_S) == ()
        assert kept.commit({tp: 5}, NOTE, timeout_s=TIMEOUT_S) == {}
        assert kept.read([tp], timeout_s=TIMEOUT_S) == {tp: StoredOffset(5, NOTE)}
    finally:
        cluster.close()


@pytest.mark.usefixtures("live_group")
def test_live_consumers_are_named_and_refuse(cluster: Cluster, topic: str, name: str) -> None:
    kept = GroupOffsets(cluster, name)
    (member,) = kept.live_members(timeout_s=TIMEOUT_S)
    assert member.client == "a-live-consumer"
    assert "127.0.0.1" in member.host
    tp = TopicPartition(topic, 0)
    (refused,) = kept.commit({tp: 5}, NOTE, timeout_s=TIMEOUT_S).values()
    assert refused.group_is_live


def test_a_topic_that_is_not_there_does_not_hold_up_the_others(
    real_servers: Sandbox, cluster: Cluster, topic: str, name: str
) -> None:
    real_servers.create_topic(topic, 1)
    there, gone = TopicPartition(topic, 0), TopicPartition(f"{topic}-gone", 0)
    kept = GroupOffsets(cluster, name)
    refused = kept.commit({there: 1, gone: 1}, NOTE, timeout_s=TIMEOUT_S)
    assert {tp: one.group_is_live for tp, one in refused.items()} == {gone: False}
    assert "UnknownTopicOrPartition" in refused[gone].reason
    assert kept.read([there, gone], timeout_s=TIMEOUT_S) == {there: StoredOffset(1, NOTE)}


def test_many_offsets_are_taken_in_parts(
    real_servers: Sandbox, cluster: Cluster, topic: str, name: str
) -> None:
    real_servers.create_topic(topic, 2)
    kept = GroupOffsets(cluster, name)
    tps = [TopicPartition(topic, n) for n in (0, 1)]
    many = {TopicPartition(topic, n): n for n in range(2500)}
    refused = kept.commit(many, NOTE, timeout_s=TIMEOUT_S)
    assert len(refused) == 2498
    assert {tp: o.offset for tp, o in kept.read(tps, timeout_s=TIMEOUT_S).items()} == {
        tps[0]: 0,
        tps[1]: 1,
    }


def test_all_that_a_group_has(
    real_servers: Sandbox, cluster: Cluster, topic: str, name: str
) -> None:
    kept = GroupOffsets(cluster, name)
    assert kept.read(None, timeout_s=TIMEOUT_S) == {}
    real_servers.create_topic(topic, 2)
    tps = [TopicPartition(topic, n) for n in (0, 1)]
    kept.commit({tps[0]: 3, tps[1]: 4}, NOTE, timeout_s=TIMEOUT_S)
    assert kept.read(None, timeout_s=TIMEOUT_S) == {
        tps[0]: StoredOffset(3, NOTE),
        tps[1]: StoredOffset(4, NOTE),
    }


@pytest.mark.long
def test_the_coordinator_is_killed(new_sandbox: Callable[..., Sandbox], name: str) -> None:
    servers = new_sandbox(kafka="3.9", brokers=2)
    servers.create_topic(name, 1)
    tp = TopicPartition(name, 0)
    cluster = Cluster(settings_of(servers))
    try:
        kept = GroupOffsets(cluster, name)
        # Its topic has two copies only once both brokers know it.
        assert kept.commit({tp: 1}, NOTE, timeout_s=60.0) == {}
        first = kept._coordinator
        kept._coordinator = 3 - (first or 0)
        assert kept.commit({tp: 1}, NOTE, timeout_s=60.0) == {}
        assert kept._coordinator == first, "the other broker said that it is not the one"
        next(b for b in servers.brokers if b.number == first).kill()
        assert kept.commit({tp: 2}, NOTE, timeout_s=60.0) == {}
        assert kept.read([tp], timeout_s=60.0) == {tp: StoredOffset(2, NOTE)}
        assert kept._coordinator != first
    finally:
        cluster.close()


@pytest.mark.long
def test_consumers_of_the_new_protocol_are_reported_too(
    sandbox_41: Sandbox, topic: str, name: str
) -> None:
    sandbox_41.create_topic(topic, 1)
    cluster = Cluster(settings_of(sandbox_41))
    consumer = current_tools.start(
        current_tools.CONSUMER,
        *("--bootstrap-server", sandbox_41.bootstrap_servers, "--group", name, "--topic", topic),
        *("--consumer-property", "group.protocol=consumer"),
        line="4.1",
    )
    try:
        kept = GroupOffsets(cluster, name)

        def told() -> bool:
            assert consumer.poll() is None
            return bool(kept.live_members(timeout_s=TIMEOUT_S))

        wait_until(told, 60, "the consumer to be listed")
        (refused,) = kept.commit({TopicPartition(topic, 0): 0}, NOTE, timeout_s=TIMEOUT_S).values()
        assert refused.group_is_live
    finally:
        consumer.terminate()
        consumer.wait(30)
        cluster.close()


def test_brokers_that_are_away_are_an_error_in_time() -> None:
    cluster = Cluster(FetchSettings(("127.0.0.1:1",)))
    try:
        with pytest.raises(ServerError, match=r"within 0\.5 s"):
            GroupOffsets(cluster, "g").read([TopicPartition("t", 0)], timeout_s=0.5)
    finally:
        cluster.close()
