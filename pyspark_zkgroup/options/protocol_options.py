"""How the query is a member of its group."""

from __future__ import annotations

from typing import Final

from pyspark_zkgroup.options import values
from pyspark_zkgroup.options.option import Option, Section

SECTION: Final[Section] = "ZooKeeper and the group"

PROTOCOL = Option(
    "protocol",
    SECTION,
    values.one_of("zookeeper", "coordinator", "light", "kafka"),
    "zookeeper",
    "Who decides which member reads what. zookeeper: every member for itself, all alike, as the "
    "JVM consumers do, which may be in the same group. coordinator: one elected coordinator tells "
    "each member, so that a change costs little in large groups and moves no more than it must; "
    "all members must be zkgroup members with this protocol or light. light: the same coordinator, "
    "reached over the network, so that the query needs no ZooKeeper. kafka: the brokers' own group "
    "coordinator, without any ZooKeeper; plain Kafka consumers may be in the same group. More in "
    "docs/protocols.md. Use a new checkpoint when you change it.",
)
CANDIDATE = Option(
    "coordinator.candidate",
    SECTION,
    values.FLAG,
    True,
    "Only with protocol=coordinator: whether this query's driver may be elected coordinator, of "
    "all groups of this ZooKeeper. false where `zkgroup coordinator` runs, or other drivers may.",
)
GROUP_SESSION_TIMEOUT = Option(
    "session.timeout.ms",
    SECTION,
    values.duration_ms(),
    10_000,
    "Only with protocol=kafka or light: how long the brokers, or the coordinator, keep a member in "
    "the group that they no longer hear of. The coordinator allows 1000 and more, the brokers "
    "group.min.session.timeout.ms (6000, unless set otherwise) and more. A restart after a crash "
    "waits for so long, unless 'member.id' is given.",
    default_text="10000; three times heartbeat.interval.ms if only that is given and asks for more",
)
HEARTBEAT_INTERVAL: Final[Option[int | None]] = Option(
    "heartbeat.interval.ms",
    SECTION,
    values.duration_ms(),
    None,
    "Only with protocol=kafka: how often the member tells the brokers that it is alive, and hears "
    "that the group rebalances. At most a third of session.timeout.ms.",
    default_text="a third of session.timeout.ms",
)

OPTIONS: Final = (PROTOCOL, CANDIDATE, GROUP_SESSION_TIMEOUT, HEARTBEAT_INTERVAL)
