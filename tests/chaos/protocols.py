"""How the protocols differ in a chaos run: a member's route, its options, the servers that run,
where the group is observed, and what the run may judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pyspark_zkgroup.group.paths import CoordinatedPaths, GroupPaths
from tests.chaos.settings import GROUP, Settings
from tests.harness.planted_secrets import COORDINATOR_TOKEN
from zkgroup_sandbox.kafka_config import CHROOT

# What faults can be done to; see kinds.py.
MEMBERS, ZOOKEEPER, COORDINATORS, BROKERS = "members", "zookeeper", "coordinators", "brokers"
BROKERS_GROUP = "group of the brokers"
BROKER_AWAY = frozenset(
    {"broker killed", "broker paused", "group coordinator killed", "leaders moved"}
)
ZOOKEEPER_AWAY = frozenset({"ZooKeeper leader killed", "ZooKeeper quorum lost"})
COORDINATOR_AWAY = ZOOKEEPER_AWAY | {
    "coordinator killed",
    "coordinator paused beyond its session",
    "coordinator cut off from ZooKeeper",
}


@dataclass(frozen=True)
class Given:
    """`route`: the addresses of the member's route; `bootstrap`: those of the brokers."""

    name: str
    route: str
    bootstrap: str
    settings: Settings

    @property
    def session_ms(self) -> str:
        return str(int(self.settings.session_s * 1000))


@dataclass(frozen=True)
class Protocol:
    """`route`: the servers at the end of each member's route. `also_hits`: what faults hit in
    addition to members and brokers. `paths`: the group's nodes; None if the brokers keep the group.
    `judges_gaps`: whether the rule of unowned.py holds: members have owner nodes, and the
    registrations decide the right to a partition. If it does not hold, each fault must be followed
    by a settled group. `unanswered_in`: kinds of faults in which a commit may get no answer while
    the member plans on under its lease.
    """

    name: str
    route: str
    paths: GroupPaths | None
    options: Callable[[Given], dict[str, str]]
    unanswered_in: frozenset[str]
    also_hits: frozenset[str] = frozenset()
    judges_gaps: bool = False


def _zookeeper(given: Given) -> dict[str, str]:
    return {
        "zookeeper.connect": given.route + CHROOT,
        "zookeeper.session.timeout.ms": given.session_ms,
        # A member starts again while its ZooKeeper may still be hurt.
        "zookeeper.connection.timeout.ms": "60000",
    }


def _coordinator(given: Given) -> dict[str, str]:
    return {**_zookeeper(given), "protocol": "coordinator", "coordinator.candidate": "false"}


def _light(given: Given) -> dict[str, str]:
    return {
        "protocol": "light",
        "coordinator.addresses": given.route,
        "coordinator.token": COORDINATOR_TOKEN,
        "kafka.bootstrap.servers": given.bootstrap,
        "session.timeout.ms": given.session_ms,
    }


def _kafka(given: Given) -> dict[str, str]:
    return {
        "protocol": "kafka",
        "kafka.bootstrap.servers": given.route,
        "session.timeout.ms": given.session_ms,
        "metadata.refresh.ms": "2000",
        # By this the brokers tell which member is which.
        "client.id": given.name,
    }


PROTOCOLS: Mapping[str, Protocol] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            Protocol(
                "zookeeper",
                ZOOKEEPER,
                GroupPaths(GROUP),
                _zookeeper,
                ZOOKEEPER_AWAY,
                frozenset({ZOOKEEPER}),
                judges_gaps=True,
            ),
            Protocol(
                "coordinator",
                ZOOKEEPER,
                CoordinatedPaths(GROUP),
                _coordinator,
                ZOOKEEPER_AWAY,
                frozenset({ZOOKEEPER, COORDINATORS}),
            ),
            Protocol(
                "light",
                COORDINATORS,
                CoordinatedPaths(GROUP),
                _light,
                COORDINATOR_AWAY,
                frozenset({ZOOKEEPER, COORDINATORS}),
            ),
            Protocol(
                "kafka",
                BROKERS,
                None,
                _kafka,
                BROKER_AWAY,
                frozenset({BROKERS_GROUP}),
            ),
        )
    }
)
