"""What tests and the demo ask of running servers: faults, sessions, topics, exact production."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from kafka import KafkaConsumer, TopicPartition
from kazoo.client import KazooClient, KazooState

from pyspark_zkgroup.errors import SandboxError
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.answers import broker_view, zookeeper_mode
from zkgroup_sandbox.produce import Paced, Produced, json_event, produce

NewSandbox = Callable[..., Sandbox]


@contextmanager
def kazoo(connect: str, retry: dict[str, float] | None = None) -> Iterator[KazooClient]:
    client = KazooClient(connect, timeout=10.0, connection_retry=retry)
    client.start(timeout=20)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def fresh(name: str) -> str:
    return f"{name}-{uuid.uuid4().hex[:8]}"


def read_all(sandbox: Sandbox, produced: Produced) -> dict[tuple[str, int, int], bytes]:
    """Everything in the topic, by an independent consumer."""
    ends = {TopicPartition(produced.topic, p): end for p, end in produced.end_offsets.items()}
    consumer = KafkaConsumer(
        bootstrap_servers=sandbox.bootstrap_servers,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
    )
    try:
        assert consumer.end_offsets(list(ends)) == ends
        consumer.assign(list(ends))
        read: dict[tuple[str, int, int], bytes] = {}

        def at_the_end() -> bool:
            for records in consumer.poll(500).values():
                read.update({(r.topic, r.partition, r.offset): r.value for r in records})
            return all(consumer.position(tp) == end for tp, end in ends.items())

        wait_until(at_the_end, 60, "the consumer to come to the end")
        return read
    finally:
        consumer.close()


def test_ensemble_survives_the_death_of_its_leader(new_sandbox: NewSandbox) -> None:
    sandbox = new_sandbox(brokers=0, zookeepers=3, tick_ms=200)
    modes = [zookeeper_mode(server.port) for server in sandbox.zookeepers]
    assert sorted(map(str, modes)) == ["follower", "follower", "leader"]
    with kazoo(sandbox.zookeeper_connect) as client:
        client.create("/before")
        leader = sandbox.zookeepers[modes.index("leader")]
        leader.kill()
        wait_until(lambda: client.exists("/before"), 30, "the others to elect a leader")
        wait_until(lambda: client.ensure_path("/after"), 30, "the others to serve writes")
        assert sandbox.status().phase == "degraded"
        leader.start()
        assert zookeeper_mode(leader.port) == "follower"
        assert sandbox.status().phase == "running"


def test_expired_session_loses_its_nodes_and_its_client_learns_it(zookeeper: Sandbox) -> None:
    states: list[str] = []
    with (
        kazoo(zookeeper.zookeeper_connect) as victim,
        kazoo(zookeeper.zookeeper_connect) as other,
    ):
        victim.add_listener(states.append)
        path = victim.create(fresh("/ephemeral"), ephemeral=True)
        number, password = victim.client_id
        with pytest.raises(SandboxError, match=f"has no session 0x{number:x} with that password"):
            zookeeper.expire_session(number, b"x" * 16)
        assert other.exists(path)
        zookeeper.expire_session(number, password)
        assert other.exists(path) is None
        wait_until(lambda: KazooState.LOST in states, 20, "the victim to learn that it expired")
        wait_until(lambda: victim.client_id[0] != number, 20, "the victim to get a new session")


def test_session_expires_although_its_client_comes_back_at_once(zookeeper: Sandbox) -> None:
    at_once = {"max_tries": -1, "delay": 0.001, "backoff": 1, "max_jitter": 0.0}
    with kazoo(zookeeper.zookeeper_connect) as other:
        for _ in range(10):
            with kazoo(zookeeper.zookeeper_connect, at_once) as victim:
                path = victim.create(fresh("/ephemeral"), ephemeral=True)
                zookeeper.expire_session(*victim.client_id)
                assert other.exists(path) is None


def test_paused_zookeeper_keeps_its_clients_waiting(new_sandbox: NewSandbox) -> None:
    sandbox = new_sandbox(brokers=0)
    states: list[str] = []
    client = KazooClient(sandbox.zookeeper_connect, timeout=2.0)
    client.start()
    try:
        client.add_listener(states.append)
        sandbox.zookeepers[0].pause()
        wait_until(lambda: states == [KazooState.SUSPENDED], 20, "the client to lose touch")
        sandbox.zookeepers[0].resume()
        wait_until(lambda: KazooState.CONNECTED in states, 20, "the client to come back")
        assert client.exists("/zookeeper")
    finally:
        client.stop()
        client.close()


@pytest.mark.parametrize("line", ["sandbox", "sandbox_41"])
def test_topics_settle_on_every_broker(line: str, request: pytest.FixtureRequest) -> None:
    sandbox: Sandbox = request.getfixturevalue(line)
    topic = fresh("settles")
    port = sandbox.brokers[0].port
    sandbox.create_topic(topic, 3, {"cleanup.policy": "compact"})
    view = broker_view(port)
    assert view is not None
    assert dict(view.leaders[topic]) == {0: 1, 1: 1, 2: 1}
    sandbox.add_partitions(topic, 5)
    view = broker_view(port)
    assert view is not None
    assert sorted(view.leaders[topic]) == [0, 1, 2, 3, 4]
    with pytest.raises(SandboxError, match=f"Topic '{topic}' already exists"):
        sandbox.create_topic(topic, 1)
    sandbox.delete_topic(topic)
    view = broker_view(port)
    assert view is not None
    assert topic not in view.leaders
    with pytest.raises(SandboxError, match=f"Cannot delete topic '{topic}'"):
        sandbox.delete_topic(topic)


def test_kraft_keeps_its_nodes_out_of_zookeeper(sandbox_41: Sandbox) -> None:
    assert sandbox_41.status().phase == "running"
    with kazoo(sandbox_41.zookeeper_connect) as client:
        assert not {"brokers", "controller", "kafka"} & set(client.get_children("/"))
    with pytest.raises(SandboxError, match=r"Kafka 4\.1 stores nothing in ZooKeeper"):
        _ = sandbox_41.kafka_zookeeper_connect


def test_old_kafka_keeps_its_nodes_under_its_chroot(sandbox: Sandbox) -> None:
    with kazoo(sandbox.kafka_zookeeper_connect) as client:
        assert client.get_children("/brokers/ids") == ["1"]
    with kazoo(sandbox.zookeeper_connect) as client:
        assert not client.exists("/brokers")


@pytest.mark.parametrize("line", ["sandbox", "sandbox_41"])
def test_produced_offsets_are_exactly_what_a_consumer_reads(
    line: str, request: pytest.FixtureRequest
) -> None:
    sandbox: Sandbox = request.getfixturevalue(line)
    topic = fresh("bulk")
    sandbox.create_topic(topic, 7)
    produced = produce(
        sandbox.bootstrap_servers,
        topic,
        15_000,
        make_event=lambda number: (None, str(number).encode()),
    )
    assert produced.count == 15_000
    read = read_all(sandbox, produced)
    assert list(produced.offsets()) == sorted(read)
    assert sorted(map(int, read.values())) == list(range(15_000))


@pytest.mark.long
def test_nothing_is_lost_or_doubled_when_the_broker_dies_under_a_producer(
    new_sandbox: NewSandbox,
) -> None:
    sandbox = new_sandbox(kafka="3.9")
    sandbox.create_topic("t", 3)
    broker = sandbox.brokers[0]
    with Paced(
        sandbox.bootstrap_servers, "t", 3_000, make_event=lambda n: (None, str(n).encode())
    ) as paced:
        wait_until(lambda: paced.so_far.count > 1_000, 20, "the first events")
        broker.kill()
        died_at = paced.so_far.count
        broker.start()
        wait_until(lambda: paced.so_far.count > died_at + 1_000, 30, "events after the death")
        broker.restart()
        produced = paced.stop()
    read = read_all(sandbox, produced)
    assert list(produced.offsets()) == sorted(read)
    assert sorted(map(int, read.values())) == list(range(produced.count))


def test_producer_says_what_it_waits_for(sandbox: Sandbox) -> None:
    topic = fresh("tiny")
    sandbox.create_topic(topic, 1, {"max.message.bytes": "1000"})
    with pytest.raises(SandboxError, match=f"refuses events for partition 0 of '{topic}': error"):
        produce(sandbox.bootstrap_servers, topic, 100, make_event=json_event)


@pytest.mark.long
@pytest.mark.parametrize("line", ["3.9", "4.1"])
def test_several_brokers(line: str, new_sandbox: NewSandbox) -> None:
    sandbox = new_sandbox(kafka=line, brokers=3, zookeepers=3)
    sandbox.create_topic("t", 6, replication=3)
    produced = produce(sandbox.bootstrap_servers, "t", 6_000)
    sandbox.brokers[2].kill()
    assert sandbox.status().phase == "degraded"
    leaders: Callable[[], object] = lambda: (  # noqa: E731
        (view := broker_view(sandbox.brokers[0].port)) is not None
        and set(view.leaders["t"].values()) == {1, 2}
    )
    wait_until(leaders, 60, "the others to lead all partitions")
    assert len(read_all(sandbox, produced)) == 6_000
    sandbox.brokers[2].start()
    wait_until(lambda: sandbox.status().phase == "running", 60, "the third broker")
    sandbox.create_topic("u", 6, replication=3)


@pytest.mark.long
def test_whole_sandbox_killed_and_started_again(new_sandbox: NewSandbox) -> None:
    sandbox = new_sandbox(kafka="3.9", zookeepers=3)
    sandbox.create_topic("t", 2)
    produced = produce(sandbox.bootstrap_servers, "t", 1_000)
    for server in sandbox.servers:
        server.kill()
    assert sandbox.status().phase == "stopped"
    sandbox.start()
    assert sandbox.status().phase == "running"
    assert len(read_all(sandbox, produced)) == 1_000
