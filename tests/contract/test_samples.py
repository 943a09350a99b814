"""Sizes of records, asked of brokers without reading all records."""

from __future__ import annotations

import os

from pyspark_zkgroup.kafka import samples
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.model import TopicPartition
from tests.contract.fetching import TIMEOUT_S, Servers, settings_of
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox

KIB = 1024


def filled(servers: Servers, topic: str, sizes: list[tuple[int, int]]) -> list[TopicPartition]:
    """Write (count, size) records to each partition, which compression cannot make smaller."""
    servers.create_topic(topic, len(sizes))
    found = [TopicPartition(topic, n) for n in range(len(sizes))]
    for tp, (count, size) in zip(found, sizes):
        produce(servers.bootstrap_servers, tp, [os.urandom(size)] * count, batch_size=4 * KIB)
    return found


def test_one_request_tells_the_size_of_the_records_of_many_partitions(
    servers: Servers, cluster: Cluster, topic: str
) -> None:
    one, two, empty = filled(servers, topic, [(300, 100), (30, 5 * KIB), (0, 0)])
    samples.take(cluster, {one: 0, two: 0}, timeout_s=TIMEOUT_S)
    before = cluster.requests
    found = samples.take(cluster, {one: 40, two: 3, empty: 0}, timeout_s=TIMEOUT_S)
    assert cluster.requests == before + 1
    assert found.keys() == {one, two}
    assert 100 < found[one].size_bytes / found[one].offsets < 130
    assert 5 * KIB < found[two].size_bytes / found[two].offsets < 5.2 * KIB


def test_little_of_a_long_backlog_is_fetched(real_servers: Sandbox, topic: str) -> None:
    (tp,) = filled(real_servers, topic, [(500, KIB)])
    cluster = Cluster(settings_of(real_servers))
    try:
        found = samples.take(cluster, {tp: 0}, timeout_s=TIMEOUT_S)[tp]
    finally:
        cluster.close()
    assert found.size_bytes <= 64 * KIB
    assert found.offsets < 64


def test_a_batch_larger_than_a_sample_is_reported_by_the_first_broker_asked(
    real_servers: Sandbox, topic: str
) -> None:
    one, two = filled(real_servers, topic, [(2, 200 * KIB), (2, 200 * KIB)])
    cluster = Cluster(settings_of(real_servers))
    try:
        for first, second in ((one, two), (two, one)):
            found = samples.take(cluster, {first: 0, second: 0}, timeout_s=TIMEOUT_S)
            assert found.keys() == {first}
            assert 200 * KIB < found[first].size_bytes / found[first].offsets < 201 * KIB
    finally:
        cluster.close()


def test_what_cannot_be_read_is_left_out(
    real_servers: Sandbox, cluster: Cluster, topic: str
) -> None:
    (tp,) = filled(real_servers, topic, [(10, 100)])
    nowhere = TopicPartition(f"{topic}-not-there", 0)
    positions = {nowhere: 0, tp: 0, TopicPartition(topic, 1): 5}
    assert samples.take(cluster, positions, timeout_s=TIMEOUT_S).keys() == {tp}
    assert samples.take(cluster, {tp: 500}, timeout_s=TIMEOUT_S) == {}
    assert samples.take(cluster, {tp: 0}, timeout_s=TIMEOUT_S).keys() == {tp}
    assert samples.take(cluster, {}, timeout_s=TIMEOUT_S) == {}


def test_brokers_that_speak_as_older_ones_did(sandbox: Sandbox, topic: str) -> None:
    (tp,) = filled(sandbox, topic, [(20, 3 * KIB)])
    for version in ((0, 9), (0, 10, 0), (0, 10, 1), (0, 11)):
        cluster = Cluster(settings_of(sandbox), broker_version=version)
        try:
            found = samples.take(cluster, {tp: 4}, timeout_s=TIMEOUT_S)[tp]
        finally:
            cluster.close()
        assert 3 * KIB < found.size_bytes / found.offsets < 3.2 * KIB, version
