"""How the query is a member of its group, and what the other options mean to that."""

from __future__ import annotations

from typing import Any, Final, cast

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.member_settings import COOPERATIVE_STICKY, KafkaGroupSettings
from pyspark_zkgroup.options import (
    group_options,
    kafka_options,
    light_options,
    protocol_options,
    topic_options,
    zookeeper_security_options,
)
from pyspark_zkgroup.options.frozen import Protocol
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option

# The patience beyond a session's end: the JVM consumers' defaults come to the same 8 seconds.
_REBALANCE_WAIT_BEYOND_SESSION_MS = 2000
# As plain consumers have it: a rebalance of the brokers' waits for the slowest batch.
_MAX_POLL_INTERVAL_IN_KAFKA_MS = 300_000
_HEARTBEATS_PER_SESSION = 3


def protocol(given: Given) -> Protocol:
    found = cast(Protocol, given.value(protocol_options.PROTOCOL))
    if found == "kafka":
        _check_in_kafka(given)
    else:
        _check_not_in_kafka(given, found)
    if found == "light":
        _check_light(given)
    else:
        _check_not_light(given)
    if found in ("coordinator", "light"):
        _check_coordinated(given)
    if found == "coordinator":
        return found
    if protocol_options.CANDIDATE in given:
        raise OptionError(
            f"Option {given.shown(protocol_options.CANDIDATE)}, but "
            f"{given.shown(protocol_options.PROTOCOL)}, which knows no coordinator",
            "Leave it out, or set 'protocol' to coordinator in all members of the group",
        )
    return found


def kafka_group(given: Given) -> KafkaGroupSettings:
    """Of no use to the other protocols."""
    if given.value(protocol_options.PROTOCOL) != "kafka":
        return KafkaGroupSettings()
    chosen = group_options.STRATEGY in given
    session_timeout_ms = _session_timeout_ms(given)
    heartbeat_interval_ms = given.value(protocol_options.HEARTBEAT_INTERVAL)
    if heartbeat_interval_ms is None:
        heartbeat_interval_ms = max(1, session_timeout_ms // _HEARTBEATS_PER_SESSION)
    elif heartbeat_interval_ms * _HEARTBEATS_PER_SESSION > session_timeout_ms:
        raise OptionError(
            f"Option {given.shown(protocol_options.HEARTBEAT_INTERVAL)}, but "
            f"{given.shown(protocol_options.GROUP_SESSION_TIMEOUT)}",
            "Make the first at most a third of the second: one lost heartbeat must not end the "
            "membership",
        )
    return KafkaGroupSettings(
        assignor=given.value(group_options.STRATEGY) if chosen else COOPERATIVE_STICKY,
        session_timeout_ms=session_timeout_ms,
        heartbeat_interval_ms=heartbeat_interval_ms,
    )


def _session_timeout_ms(given: Given) -> int:
    """A default gives way to a heartbeat interval that was given and does not fit into it."""
    session_timeout_ms = given.value(protocol_options.GROUP_SESSION_TIMEOUT)
    if protocol_options.GROUP_SESSION_TIMEOUT in given:
        return session_timeout_ms
    interval_ms = given.value(protocol_options.HEARTBEAT_INTERVAL) or 0
    return max(session_timeout_ms, interval_ms * _HEARTBEATS_PER_SESSION)


def rebalance_wait_ms(given: Given, chosen: Protocol) -> int:
    asked = given.value(group_options.REBALANCE_WAIT)
    if asked is not None:
        return asked
    if chosen in ("kafka", "light"):
        session_timeout_ms = _session_timeout_ms(given)
    else:
        session_timeout_ms = given.value(group_options.SESSION_TIMEOUT)
    return session_timeout_ms + _REBALANCE_WAIT_BEYOND_SESSION_MS


def max_poll_interval_ms(given: Given, chosen: Protocol) -> int:
    if chosen == "kafka" and group_options.MAX_POLL_INTERVAL not in given:
        return _MAX_POLL_INTERVAL_IN_KAFKA_MS
    return given.value(group_options.MAX_POLL_INTERVAL)


def _check_in_kafka(given: Given) -> None:
    chosen = given.shown(protocol_options.PROTOCOL)
    for option in _ZOOKEEPERS:
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {chosen}, which needs no ZooKeeper",
                "Leave it out",
            )
    if group_options.REBALANCE_CALLBACK in given:
        raise OptionError(
            f"Option {given.shown(group_options.REBALANCE_CALLBACK)}, but {chosen}, which does not "
            "call it yet",
            "Leave it out, or set 'protocol' to zookeeper or coordinator",
        )
    by_the_leader: tuple[Option[Any], ...] = (group_options.ORDER, topic_options.ASSIGN)
    for option in by_the_leader:
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {chosen}: the group's leader assigns",
                "Leave it out",
            )
    if not given.value(kafka_options.BOOTSTRAP):
        raise OptionError(
            f"Option {chosen}, but 'kafka.bootstrap.servers' is not given",
            "Name some brokers: there is no ZooKeeper to ask for them",
        )


def _check_light(given: Given) -> None:
    chosen = given.shown(protocol_options.PROTOCOL)
    for option in _ZOOKEEPERS:
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {chosen}, which needs no ZooKeeper",
                "Leave it out: the coordinator has ZooKeeper's, and keeps the offsets there",
            )
    if protocol_options.HEARTBEAT_INTERVAL in given:
        raise OptionError(
            f"Option {given.shown(protocol_options.HEARTBEAT_INTERVAL)}, but {chosen}: the "
            "coordinator asks each member six times within its session.timeout.ms",
            "Leave it out",
        )
    if not given.value(light_options.ADDRESSES):
        raise OptionError(
            f"Option {chosen}, but {light_options.ADDRESSES.name!r} is not given",
            "Name where `zkgroup coordinator --listen` runs: host:port[,host:port...]",
        )
    if not (given.value(light_options.TLS) or given.value(kafka_options.BOOTSTRAP)):
        raise OptionError(
            f"Option {chosen}, but neither 'kafka.bootstrap.servers' nor "
            f"{light_options.TLS.name!r} is given: brokers are not taken from a coordinator that "
            "has not shown a certificate",
            "Name some brokers in 'kafka.bootstrap.servers', or reach the coordinator with TLS",
        )


def _check_not_light(given: Given) -> None:
    for option in light_options.OPTIONS:
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {given.shown(protocol_options.PROTOCOL)}",
                "Leave it out, or set 'protocol' to light",
            )


def _check_not_in_kafka(given: Given, found: Protocol) -> None:
    chosen = given.shown(protocol_options.PROTOCOL)
    in_zookeeper = (protocol_options.GROUP_SESSION_TIMEOUT, protocol_options.HEARTBEAT_INTERVAL)
    for option in in_zookeeper if found != "light" else ():
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {chosen}: the session is ZooKeeper's, and its "
                f"client chooses when to be heard",
                "Use 'zookeeper.session.timeout.ms'",
            )
    if (
        group_options.STRATEGY in given
        and given.value(group_options.STRATEGY) == COOPERATIVE_STICKY
    ):
        raise OptionError(
            f"Option {given.shown(group_options.STRATEGY)}, but {chosen}",
            "Use range or roundrobin, or set 'protocol' to kafka",
        )


_ZOOKEEPERS: Final[tuple[Option[Any], ...]] = (
    group_options.CONNECT,
    group_options.SESSION_TIMEOUT,
    group_options.CONNECTION_TIMEOUT,
    group_options.AUTH,
    group_options.SET_ACL,
    group_options.OFFSETS_STORAGE,
    group_options.DUAL_COMMIT,
    *zookeeper_security_options.OPTIONS,
)


def _check_coordinated(given: Given) -> None:
    chosen = given.shown(protocol_options.PROTOCOL)
    for option in (group_options.STRATEGY, group_options.ORDER):
        if option in given:
            raise OptionError(
                f"Option {given.shown(option)}, but {chosen}: the coordinator assigns, evenly by "
                f"threads, and moves no more than it must",
                "Leave it out",
            )
    if topic_options.ASSIGN in given:
        raise OptionError(
            f"Option {given.shown(topic_options.ASSIGN)}, but {chosen}: what is assigned by hand "
            f"nobody else decides",
            "Leave out 'protocol', or use 'subscribe' or 'subscribePattern'",
        )
