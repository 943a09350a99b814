"""What a member costs the servers. Figures are printed; the bounds are the promises."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient

from pyspark_zkgroup.membership.zookeeper import ZookeeperMembership
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.sandbox import Sandbox
from tests.fakes.brokers import FakeBrokers
from tests.group import Group, settle

IDLE_S = 4.0


def test_an_idle_query_asks_the_brokers_a_little_and_zookeeper_nothing(
    group: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = group.topic(12)
    group.produce(topic, 2)
    query = group.query(topic)
    settle(query)
    footing, cluster = query.membership.keeper.footing, query.brokers._cluster
    assert footing is not None
    assert cluster is not None
    before = (footing.store.requests, cluster.requests)
    began, triggers = time.monotonic(), 0
    while time.monotonic() - began < IDLE_S:
        query.trigger()
        triggers += 1
    seconds = time.monotonic() - began
    zookeeper = footing.store.requests - before[0]
    kafka = (cluster.requests - before[1]) / seconds
    with capsys.disabled():
        print(
            f"\nidle query, default trigger: {kafka:.1f} Kafka requests/s, {zookeeper} ZooKeeper "
            f"requests beyond the heartbeat in {seconds:.1f} s, {triggers / seconds:.1f} triggers/s"
        )
    assert zookeeper == 0
    assert kafka <= 6


@pytest.fixture
def durable(new_sandbox: Callable[..., Sandbox]) -> Sandbox:
    """ZooKeeper alone, as one is run for real: each write is on the disk before it is answered."""
    return new_sandbox(brokers=0, durable=True)


def test_ten_thousand_free_partitions_are_claimed_ten_times_as_fast_as_one_by_one(
    durable: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    topics, partitions = 100, 100
    brokers = FakeBrokers({f"topic-{n:03d}": partitions for n in range(topics)})
    client = KazooClient(durable.zookeeper_connect, timeout=30.0)
    client.start()
    try:
        for name in brokers.topics:
            client.ensure_path(f"/consumers/rival/owners/{name}")
        began = time.monotonic()
        for name, count in brokers.topics.items():
            for n in range(count):
                client.create(f"/consumers/rival/owners/{name}/{n}", b"rival-0", ephemeral=True)
        one_by_one_s = time.monotonic() - began
    finally:
        client.stop()
        client.close()
    options = {
        "zookeeper.connect": durable.zookeeper_connect,
        "group.id": "many",
        "subscribePattern": "topic-.*",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "startingOffsets": "earliest",
        "zookeeper.session.timeout.ms": "20000",
    }
    member = ZookeeperMembership(parse(options), brokers)
    try:
        began = time.monotonic()
        standing = member.boundary({})
        claimed_s = time.monotonic() - began
        assert len(standing.positions) == topics * partitions
        assert member.prove()
        began = time.monotonic()
        again = member.boundary({p: at.start + 1 for p, at in standing.positions.items()})
        assert member.prove()
        batch_s = time.monotonic() - began
        assert len(again.positions) == topics * partitions
    finally:
        member.leave({})
    with capsys.disabled():
        print(
            f"\n{topics * partitions} partitions: one create per round trip {one_by_one_s:.2f} s, "
            f"joined and claimed in {claimed_s:.2f} s ({one_by_one_s / claimed_s:.1f} times as "
            f"fast); then a boundary that commits and proves all of them {batch_s:.2f} s"
        )
    assert claimed_s <= one_by_one_s / 10
