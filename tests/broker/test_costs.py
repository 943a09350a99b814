"""What a member costs the servers. Figures are printed; the bounds are the promises."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooClient

from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.owned.claims import Claiming
from pyspark_zkgroup.protocols.zookeeper.membership import zookeeper_membership
from tests.fakes.brokers import FakeBrokers
from tests.harness.group import Group, settle
from zkgroup_sandbox import Sandbox

IDLE_S = 4.0


def test_an_idle_query_asks_the_brokers_a_little_and_zookeeper_once(
    group: Group, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = group.topic(12)
    group.produce(topic, 2)
    query = group.query(topic)
    settle(query)
    context, cluster = query.membership.keeper.context, query.brokers._cluster
    assert context is not None
    assert cluster is not None
    before = (context.store.requests, cluster.requests)
    began, triggers = time.monotonic(), 0
    while time.monotonic() - began < IDLE_S:
        query.trigger()
        triggers += 1
    seconds = time.monotonic() - began
    zookeeper = context.store.requests - before[0]
    kafka = (cluster.requests - before[1]) / seconds
    with capsys.disabled():
        print(
            f"\nidle query, default trigger: {kafka:.1f} Kafka requests/s, {zookeeper} ZooKeeper "
            f"requests beyond the heartbeat in {seconds:.1f} s, {triggers / seconds:.1f} triggers/s"
        )
    # Reads of its offset nodes, once when it rests, in case an operator sets one.
    assert zookeeper <= 12
    assert kafka <= 6


@pytest.fixture
def durable(new_sandbox: Callable[..., Sandbox]) -> Sandbox:
    """ZooKeeper alone, as one is run for real: each write is on the disk before it is answered."""
    return new_sandbox(brokers=0, durable=True)


@pytest.mark.long
def test_ten_thousand_free_partitions_are_claimed_many_times_as_fast_as_one_by_one(
    durable: Sandbox, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compared is like with like: the rival knows what is free and creates the owner nodes, no
    more. Our transactions rewrite them and move the fences as well. Joining, looking at the group
    and reading ten thousand offsets come on top, and are in the second figure.
    """
    claims_s: list[float] = []
    claim = Claiming._claim

    def timed(self: Claiming, *args: Any) -> list[TopicPartition]:
        began = time.monotonic()
        try:
            return claim(self, *args)
        finally:
            claims_s.append(time.monotonic() - began)

    monkeypatch.setattr(Claiming, "_claim", timed)
    brokers = FakeBrokers({f"topic-{n:03d}": 100 for n in range(100)})
    partitions = [
        TopicPartition(name, n) for name, count in brokers.topics.items() for n in range(count)
    ]
    one_by_one_s = one_create_per_round_trip(durable, partitions)
    # A new group: all first positions are written as well. Then the next member takes over.
    fresh_s, _ = join(durable, brokers, partitions)
    # The best of three: whatever else the machine does only adds to a time.
    joined_s, batch_s = min(join(durable, brokers, partitions) for _ in range(3))
    claimed_s = min(claims_s)
    with capsys.disabled():
        print(
            f"\n{len(partitions)} partitions: one create per round trip {one_by_one_s:.2f} s; "
            f"claimed in {claimed_s:.2f} s ({one_by_one_s / claimed_s:.1f} times as fast), with "
            f"joining, looking and reading all offsets {joined_s:.2f} s, in a group without any "
            f"{fresh_s:.2f} s; a boundary that commits and proves them all: {batch_s:.2f} s"
        )
    # Ten times and more on a machine that has nothing else to do. Less than four would not be the
    # load: then they no longer go many to a round trip.
    assert claimed_s <= one_by_one_s / 4


def one_create_per_round_trip(server: Sandbox, partitions: list[TopicPartition]) -> float:
    paths = GroupPaths("rival")
    client = KazooClient(server.zookeeper_connect, timeout=30.0)
    client.start()
    try:
        for topic in {p.topic for p in partitions}:
            client.ensure_path(paths.owner_topic(topic))
        began = time.monotonic()
        for partition in partitions:
            client.create(paths.owner(partition), b"rival-0", ephemeral=True)
        return time.monotonic() - began
    finally:
        client.stop()
        client.close()


def join(
    server: Sandbox, brokers: FakeBrokers, partitions: list[TopicPartition]
) -> tuple[float, float]:
    """Seconds until all are claimed, and seconds of the boundary after a batch over all of them."""
    options = {
        "zookeeper.connect": server.zookeeper_connect,
        "group.id": "many",
        "subscribePattern": "topic-.*",
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "startingOffsets": "earliest",
        "zookeeper.session.timeout.ms": "20000",
    }
    member = zookeeper_membership(parse(options), brokers)
    try:
        began = time.monotonic()
        standing = member.boundary({})
        claimed_s = time.monotonic() - began
        assert standing.positions.keys() == set(partitions)
        assert member.prove()
        began = time.monotonic()
        standing = member.boundary({p: at.start + 1 for p, at in standing.positions.items()})
        assert member.prove()
        assert standing.positions.keys() == set(partitions)
        return claimed_s, time.monotonic() - began
    finally:
        member.leave({})
