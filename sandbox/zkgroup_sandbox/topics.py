"""Topics for tests and the demo: each change returns when every broker has settled on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox.answers import broker_view
from zkgroup_sandbox.broker import Broker, is_kraft, zookeeper_connect
from zkgroup_sandbox.deadline import wait_for
from zkgroup_sandbox.kafka_config import CHROOT
from zkgroup_sandbox.kafka_wire import ClusterState
from zkgroup_sandbox.sessions import node_exists

SETTLE_DEADLINE_S = 60.0
REQUEST_TIMEOUT_MS = 30_000


def create_topic(
    brokers: Sequence[Broker],
    name: str,
    partitions: int,
    config: Mapping[str, str],
    replication: int,
) -> None:
    wanted = {
        "num_partitions": partitions,
        "replication_factor": replication,
        "configs": dict(config),
    }
    if any(name in known_topics(b) for b in brokers[:1]):
        raise SandboxError.of("topic_exists", topic=name)
    with _admin(brokers, f"Cannot create topic {name!r}") as admin:
        admin.create_topics({name: wanted}, timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(brokers, lambda view: _led(view, name, partitions), f"Topic {name!r} has no leaders")


def delete_topic(brokers: Sequence[Broker], name: str) -> None:
    with _admin(brokers, f"Cannot delete topic {name!r}") as admin:
        admin.delete_topics([name], timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(brokers, lambda view: name not in view.leaders, f"Topic {name!r} still exists")
    # The brokers forget a topic first, its nodes in ZooKeeper go last.
    if brokers and not is_kraft(brokers[0].state()):
        connect = zookeeper_connect(brokers[0].state())
        path = f"{CHROOT}/brokers/topics/{name}"
        if not wait_for(lambda: not node_exists(connect, path), SETTLE_DEADLINE_S):
            raise SandboxError.of("topic_node_remains", path=path)


def add_partitions(brokers: Sequence[Broker], name: str, partitions: int) -> None:
    with _admin(brokers, f"Cannot add partitions to topic {name!r}, up to {partitions}") as admin:
        admin.create_partitions({name: partitions}, timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(
        brokers,
        lambda view: _led(view, name, partitions),
        f"Topic {name!r} has no leaders for {partitions} partitions",
    )


def known_topics(broker: Broker) -> list[str]:
    """Those that this broker knows; none where it does not answer."""
    view = broker_view(broker.port)
    return [] if view is None else sorted(view.leaders)


@contextmanager
def _admin(brokers: Sequence[Broker], what: str) -> Iterator[Any]:
    addresses = [b.address for b in brokers]
    try:
        client = KafkaAdminClient(
            bootstrap_servers=addresses, request_timeout_ms=REQUEST_TIMEOUT_MS
        )
        try:
            yield client
        finally:
            client.close()
    except KafkaError as error:
        raise SandboxError.of(
            "topic_admin_failed",
            what=what,
            addresses=", ".join(addresses) or "a sandbox without brokers",
            error=error,
        ) from error


def _led(view: ClusterState, name: str, partitions: int) -> bool:
    leaders = view.leaders.get(name, {})
    return len(leaders) == partitions and all(leader >= 0 for leader in leaders.values())


def _settle(brokers: Sequence[Broker], settled: Callable[[ClusterState], bool], what: str) -> None:
    def everywhere() -> bool:
        views = [broker_view(b.port) for b in brokers if b.life == "running"]
        return bool(views) and all(view is not None and settled(view) for view in views)

    if not wait_for(everywhere, SETTLE_DEADLINE_S, interval_s=0.02):
        raise SandboxError.of("topic_too_long", what=what, waited_s=SETTLE_DEADLINE_S)
