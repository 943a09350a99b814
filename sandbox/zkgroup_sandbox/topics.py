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
        raise SandboxError(f"topic {name!r} already exists", "Use it as it is, or another name")
    with _admin(brokers, f"topic {name!r} could not be created") as admin:
        admin.create_topics({name: wanted}, timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(brokers, lambda view: _led(view, name, partitions), f"topic {name!r} has no leaders")


def delete_topic(brokers: Sequence[Broker], name: str) -> None:
    with _admin(brokers, f"topic {name!r} could not be deleted") as admin:
        admin.delete_topics([name], timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(brokers, lambda view: name not in view.leaders, f"topic {name!r} is still known")
    # The brokers forget a topic first, its nodes in ZooKeeper go last.
    if brokers and not is_kraft(brokers[0].state()):
        connect = zookeeper_connect(brokers[0].state())
        path = f"{CHROOT}/brokers/topics/{name}"
        if not wait_for(lambda: not node_exists(connect, path), SETTLE_DEADLINE_S):
            raise SandboxError(f"{path} is still there", "See the brokers' logs")


def add_partitions(brokers: Sequence[Broker], name: str, partitions: int) -> None:
    with _admin(brokers, f"topic {name!r} could not get {partitions} partitions") as admin:
        admin.create_partitions({name: partitions}, timeout_ms=REQUEST_TIMEOUT_MS)
    _settle(
        brokers,
        lambda view: _led(view, name, partitions),
        f"topic {name!r} has no leaders for {partitions} partitions",
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
        raise SandboxError(
            f"{what} on {', '.join(addresses) or 'a sandbox without brokers'}: {error}",
            "See the brokers' logs",
        ) from error


def _led(view: ClusterState, name: str, partitions: int) -> bool:
    leaders = view.leaders.get(name, {})
    return len(leaders) == partitions and all(leader >= 0 for leader in leaders.values())


def _settle(brokers: Sequence[Broker], settled: Callable[[ClusterState], bool], what: str) -> None:
    def everywhere() -> bool:
        views = [broker_view(b.port) for b in brokers if b.life == "running"]
        return bool(views) and all(view is not None and settled(view) for view in views)

    if not wait_for(everywhere, SETTLE_DEADLINE_S, interval_s=0.02):
        raise SandboxError(f"{what} after {SETTLE_DEADLINE_S:.0f} s", "See the brokers' logs")
