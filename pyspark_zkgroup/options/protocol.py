"""How the query is a member of its group, and which other options that allows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.member_settings import COOPERATIVE_STICKY, KafkaGroupSettings
from pyspark_zkgroup.options import brokers, group, light, topics, zookeeper
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import FLAG, duration_ms, one_of

ProtocolName = Literal["zookeeper", "coordinator", "light", "kafka"]

_HEARTBEATS_PER_SESSION = 3
_COORDINATOR_SESSION_MS_MIN = 1000

SECTION: Final = Section(__name__, "ZooKeeper and the group")

PROTOCOL: Final[Option[ProtocolName | None]] = SECTION.optional(
    "protocol",
    one_of("zookeeper", "coordinator", "light", "kafka"),
    default_text="zookeeper if zookeeper.connect is given, else kafka",
)
"""Who assigns partitions. kafka: the brokers' group coordinator, without ZooKeeper; current Kafka
consumers may be in the group. zookeeper: each member computes the same assignment; old JVM
consumers may be in the group. coordinator: an elected coordinator assigns, so that a change in a
large group costs little and moves few partitions; all members must use this protocol or light.
light: the same coordinator, reached over the network, so that the query needs no ZooKeeper.
[Protocols](docs/protocols.md) compares them. Use a new checkpoint when you change the protocol.
"""
CANDIDATE = SECTION.option("coordinator.candidate", FLAG, True, in_batch="refused")
"""Whether this query's driver may be elected coordinator of all groups of this ZooKeeper. Requires
protocol=coordinator. Set false where `zkgroup coordinator` runs, or where other drivers may be
elected.
"""
GROUP_SESSION_TIMEOUT = SECTION.option(
    "session.timeout.ms",
    duration_ms(),
    10_000,
    default_text="10000, or three times heartbeat.interval.ms if that is more",
    in_batch="refused",
)
"""After this time without a sign of life from a member, the brokers, or the coordinator, remove
it from the group. Requires protocol=kafka or light. The minimum is 1000 with a coordinator, and
group.min.session.timeout.ms with brokers (6000 by default). A restart after a crash waits that
long, unless 'member.id' is given.
"""
HEARTBEAT_INTERVAL = SECTION.optional(
    "heartbeat.interval.ms",
    duration_ms(),
    default_text="a third of session.timeout.ms",
    in_batch="refused",
)
"""How often the member sends the brokers a heartbeat, and learns of rebalances. Requires
protocol=kafka. At most a third of session.timeout.ms.
"""


@dataclass(frozen=True, slots=True)
class ChosenProtocol:
    """`kafka` and `light` are used by the protocols of these names only."""

    name: ProtocolName
    is_candidate: bool
    """Whether the driver may be elected coordinator."""
    session_timeout_ms: int
    """Of the session with ZooKeeper, with the brokers or with the coordinator."""
    kafka: KafkaGroupSettings
    light: light.LightOptions
    by_default: str = ""
    """Why this protocol, where the option is not given."""

    @property
    def has_zookeeper(self) -> bool:
        return self.name in ("zookeeper", "coordinator")


@dataclass(frozen=True, slots=True)
class _Conflict:
    """Options that cannot be combined with some protocols, why, and what to do."""

    protocols: tuple[ProtocolName, ...]
    options: Iterable[Option[Any]]
    reason: str
    remedy: str


_OF_ZOOKEEPER: Final = (*zookeeper.OPTIONS, group.OFFSETS_STORAGE, group.DUAL_COMMIT)
_CONFLICTS: Final = (
    _Conflict(
        ("kafka",),
        _OF_ZOOKEEPER,
        ", which uses no ZooKeeper",
        "Leave it out; or, for a group in ZooKeeper, give 'zookeeper.connect' and leave out "
        "'protocol'",
    ),
    _Conflict(
        ("light",),
        _OF_ZOOKEEPER,
        ", which needs no ZooKeeper",
        "Leave it out: the coordinator has ZooKeeper's, and keeps the offsets there",
    ),
    _Conflict(
        ("kafka",),
        (group.REBALANCE_CALLBACK,),
        ", which does not call it yet",
        "Leave it out, or set 'protocol' to zookeeper or coordinator",
    ),
    _Conflict(
        ("kafka",), (group.ORDER, topics.ASSIGN), ": the group's leader assigns", "Leave it out"
    ),
    _Conflict(
        ("light",),
        (HEARTBEAT_INTERVAL,),
        ": the coordinator asks each member six times within its session.timeout.ms",
        "Leave it out",
    ),
    _Conflict(
        ("zookeeper", "coordinator"),
        (GROUP_SESSION_TIMEOUT, HEARTBEAT_INTERVAL),
        ": the session is ZooKeeper's, and its client chooses when to be heard",
        "Use 'zookeeper.session.timeout.ms'",
    ),
    _Conflict(
        ("coordinator", "light"),
        (group.STRATEGY, group.ORDER),
        ": the coordinator assigns, evenly by threads, and moves no more than it must",
        "Leave it out",
    ),
    _Conflict(
        ("coordinator", "light"),
        (topics.ASSIGN,),
        ": partitions that are assigned by hand are not assigned by a protocol",
        "Leave out 'protocol', or use 'subscribe' or 'subscribePattern'",
    ),
    _Conflict(
        ("zookeeper", "coordinator", "kafka"),
        light.SECTION,
        "",
        "Leave it out, or set 'protocol' to light",
    ),
    _Conflict(
        ("zookeeper", "light", "kafka"),
        (CANDIDATE,),
        ", which knows no coordinator",
        "Leave it out, or set 'protocol' to coordinator in all members of the group",
    ),
)


def protocol(given: Given) -> ChosenProtocol:
    name, by_default = _chosen(given)
    chosen = by_default or given.shown(PROTOCOL)
    for conflict in _CONFLICTS:
        if name in conflict.protocols:
            given.refuse(conflict.options, chosen + conflict.reason, conflict.remedy)
    strategy = given.value(group.STRATEGY)
    if name != "kafka" and strategy == COOPERATIVE_STICKY:
        remedy = "Use balanced, range or roundrobin, or set 'protocol' to kafka"
        raise given.clash(group.STRATEGY, chosen, remedy)
    if name == "kafka" and strategy == group.BALANCED and group.STRATEGY in given:
        remedy = "Leave it out, or use cooperative-sticky, range or roundrobin"
        raise given.clash(group.STRATEGY, chosen, remedy)
    _check_brokers(given, name, chosen)
    if name in ("kafka", "light"):
        timeout_ms = _session_timeout_ms(given)
    else:
        timeout_ms = given.value(zookeeper.SESSION_TIMEOUT)
    return ChosenProtocol(
        name,
        given.value(CANDIDATE),
        timeout_ms,
        _kafka_group(given, timeout_ms) if name == "kafka" else KafkaGroupSettings(),
        _light(given) if name == "light" else light.LightOptions(),
        by_default,
    )


def _chosen(given: Given) -> tuple[ProtocolName, str]:
    """The protocol, and why it is the default where it is not given."""
    name, connect = given.value(PROTOCOL), repr(zookeeper.CONNECT.name)
    if name is not None:
        return name, ""
    if zookeeper.CONNECT not in given and brokers.BOOTSTRAP in given:
        return "kafka", f"{PROTOCOL.name!r} is kafka by default ({connect} is not given)"
    return "zookeeper", f"{PROTOCOL.name!r} is zookeeper by default"


def _check_brokers(given: Given, name: ProtocolName, chosen: str) -> None:
    if name == "light" and not (given.value(light.TLS) or given.value(brokers.BOOTSTRAP)):
        raise OptionError.of("coordinator_without_certificate", option=chosen, tls=light.TLS.name)


def _session_timeout_ms(given: Given) -> int:
    """A default gives way to a heartbeat interval that was given and does not fit into it."""
    session_timeout_ms = given.value(GROUP_SESSION_TIMEOUT)
    if GROUP_SESSION_TIMEOUT in given:
        return session_timeout_ms
    interval_ms = given.value(HEARTBEAT_INTERVAL) or 0
    return max(session_timeout_ms, interval_ms * _HEARTBEATS_PER_SESSION)


def _kafka_group(given: Given, session_timeout_ms: int) -> KafkaGroupSettings:
    interval_ms = given.value(HEARTBEAT_INTERVAL)
    if interval_ms is None:
        interval_ms = max(1, session_timeout_ms // _HEARTBEATS_PER_SESSION)
    elif interval_ms * _HEARTBEATS_PER_SESSION > session_timeout_ms:
        raise given.clash(
            HEARTBEAT_INTERVAL,
            GROUP_SESSION_TIMEOUT,
            "Make the first at most a third of the second: one lost heartbeat must not end the "
            "membership",
        )
    chosen = group.STRATEGY in given
    return KafkaGroupSettings(
        assignor=given.value(group.STRATEGY) if chosen else COOPERATIVE_STICKY,
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=interval_ms,
    )


def _light(given: Given) -> light.LightOptions:
    timeout_ms = given.value(GROUP_SESSION_TIMEOUT)
    if timeout_ms < _COORDINATOR_SESSION_MS_MIN:
        raise given.clash(
            GROUP_SESSION_TIMEOUT,
            PROTOCOL,
            f"A coordinator takes {_COORDINATOR_SESSION_MS_MIN} and more",
        )
    return light.light_options(given, timeout_ms)
