"""The configuration of one Kafka broker, as text. Pure: ports and paths come in, lines go out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from zkgroup_sandbox.ports import LOOPBACK

CHROOT = "/kafka"
CONTROLLER_NUMBER = 1
# How long a killed broker is taken for alive, and its next life has to wait. By default 18 s with
# ZooKeeper and 9 s without.
BROKER_SESSION_MS = 4_000


@dataclass(frozen=True)
class More:
    """What a broker has in addition to its plaintext listener."""

    listeners: Sequence[str] = ()
    protocols: Sequence[str] = ()
    lines: Sequence[str] = ()


NOTHING_MORE = More()


def common_config(*, port: int, data: Path, brokers: int, more: More = NOTHING_MORE) -> list[str]:
    copies = min(brokers, 3)
    return [
        f"advertised.listeners={_listeners(port, more)}",
        f"log.dirs={data}",
        "auto.create.topics.enable=false",
        "num.partitions=1",
        "default.replication.factor=1",
        f"offsets.topic.replication.factor={copies}",
        # The default of 50 partitions makes the first commit of a group wait for 50 leaders.
        "offsets.topic.num.partitions=4",
        f"transaction.state.log.replication.factor={copies}",
        "transaction.state.log.min.isr=1",
        "transaction.state.log.num.partitions=4",
        "group.initial.rebalance.delay.ms=0",
        # A lone broker has no other to hand its partitions to and would only wait.
        f"controlled.shutdown.enable={'true' if brokers > 1 else 'false'}",
        "log.retention.hours=-1",
        # The default buffer of 128 MB alone would fill half of the small heap.
        "log.cleaner.dedupe.buffer.size=4194304",
        "log.cleaner.backoff.ms=1000",
        # The default maps two files of 10 MB for each partition.
        "log.index.size.max.bytes=1048576",
        "log.initial.task.delay.ms=1000",
        "num.network.threads=2",
        "num.io.threads=4",
        "background.threads=2",
        "num.recovery.threads.per.data.dir=2",
        *more.lines,
    ]


def zookeeper_mode_config(
    *,
    number: int,
    port: int,
    data: Path,
    brokers: int,
    zookeeper: str,
    more: More = NOTHING_MORE,
) -> str:
    lines = [
        f"broker.id={number}",
        *_place(number),
        f"listeners={_listeners(port, more)}",
        f"listener.security.protocol.map={','.join(['PLAINTEXT:PLAINTEXT', *more.protocols])}",
        f"zookeeper.connect={zookeeper}{CHROOT}",
        f"zookeeper.session.timeout.ms={BROKER_SESSION_MS}",
        "zookeeper.connection.timeout.ms=30000",
        *common_config(port=port, data=data, brokers=brokers, more=more),
    ]
    return "\n".join(lines) + "\n"


def kraft_config(
    *,
    number: int,
    port: int,
    controller_port: int,
    data: Path,
    brokers: int,
    more: More = NOTHING_MORE,
) -> str:
    """Node 1 is broker and controller, all others are brokers only."""
    controller = f"{LOOPBACK}:{controller_port}"
    protocols = ",".join(["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", *more.protocols])
    listeners = _listeners(port, more)
    roles = "broker"
    if number == CONTROLLER_NUMBER:
        listeners += f",CONTROLLER://{controller}"
        roles = "broker,controller"
    lines = [
        f"process.roles={roles}",
        f"node.id={number}",
        *_place(number),
        f"listeners={listeners}",
        "controller.listener.names=CONTROLLER",
        f"listener.security.protocol.map={protocols}",
        f"controller.quorum.voters={CONTROLLER_NUMBER}@{controller}",
        f"broker.session.timeout.ms={BROKER_SESSION_MS}",
        "broker.heartbeat.interval.ms=1000",
        # By default a controller without news writes a record twice a second.
        "metadata.max.idle.interval.ms=0",
        *common_config(port=port, data=data, brokers=brokers, more=more),
    ]
    return "\n".join(lines) + "\n"


def _place(number: int) -> list[str]:
    """A rack for each broker, so that clients that name one are sent to it (kafka.client.rack)."""
    return [
        f"broker.rack=rack-{number}",
        "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
    ]


def _listeners(port: int, more: More) -> str:
    return ",".join([f"PLAINTEXT://{LOOPBACK}:{port}", *more.listeners])
