"""protocol=kafka: what it needs, what it has no use for, and what only it knows."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.options import parse

GIVEN = {
    "protocol": "kafka",
    "kafka.bootstrap.servers": "k1:9092",
    "group.id": "billing",
    "subscribe": "orders",
}
IN_ZOOKEEPER = {"zookeeper.connect": "zk1:2181", "group.id": "billing", "subscribe": "orders"}


def test_no_zookeeper_is_needed() -> None:
    found = parse(GIVEN)
    assert found.protocol.name == "kafka"
    assert found.zookeeper.hosts == ""
    assert found.protocol.kafka == KafkaGroupSettings("cooperative-sticky", 10_000, 3_333)
    assert found.group.rebalance_wait_ms == 12_000
    assert found.group.max_poll_interval_ms == 300_000


def test_what_is_given_is_taken() -> None:
    found = parse(
        {
            **GIVEN,
            "session.timeout.ms": "30000",
            "heartbeat.interval.ms": "5000",
            "partition.assignment.strategy": "range",
            "max.poll.interval.ms": "0",
            "member.id": "one",
        }
    )
    assert found.protocol.kafka == KafkaGroupSettings("range", 30_000, 5_000)
    assert (found.group.max_poll_interval_ms, found.group.member_id) == (0, "one")


def test_brokers_must_be_named() -> None:
    without = {name: text for name, text in GIVEN.items() if name != "kafka.bootstrap.servers"}
    with pytest.raises(OptionError, match=r"bootstrap.servers' \(as 'protocol' is 'kafka'\) is m"):
        parse(without)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("zookeeper.connect", "zk1:2181"),
        ("zookeeper.session.timeout.ms", "6000"),
        ("zookeeper.connection.timeout.ms", "6000"),
        ("zookeeper.auth", "digest:me:secret"),
        ("zookeeper.set.acl", "false"),
        ("offsets.storage", "kafka"),
        ("dual.commit.enabled", "true"),
        ("partition.assignment.order", "new"),
        ("coordinator.candidate", "true"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, text: str) -> None:
    with pytest.raises(OptionError, match=rf"'{name}'.*'protocol' is 'kafka'.*Leave it out"):
        parse({**GIVEN, name: text})


@pytest.mark.parametrize("name", ["session.timeout.ms", "heartbeat.interval.ms"])
def test_the_other_protocols_have_a_session_of_zookeeper(name: str) -> None:
    with pytest.raises(OptionError, match=rf"'{name}'.*Use 'zookeeper.session.timeout.ms'"):
        parse({**IN_ZOOKEEPER, name: "3000"})


def test_the_other_protocols_know_no_cooperative_sticky() -> None:
    with pytest.raises(OptionError, match="Use balanced, range or roundrobin"):
        parse({**IN_ZOOKEEPER, "partition.assignment.strategy": "cooperative-sticky"})


def test_equal_shares_are_called_cooperative_sticky_there() -> None:
    with pytest.raises(OptionError, match="use cooperative-sticky"):
        parse({**GIVEN, "partition.assignment.strategy": "balanced"})


def test_heartbeats_are_a_third_of_the_session_apart_at_most() -> None:
    with pytest.raises(OptionError, match=r"'heartbeat.interval.ms' is '4000'.*'11000'.*a third"):
        parse({**GIVEN, "heartbeat.interval.ms": "4000", "session.timeout.ms": "11000"})


@pytest.mark.parametrize("session_ms", [1, 6000, 10_000, 45_000])
def test_a_session_timeout_alone_makes_the_heartbeat_interval(session_ms: int) -> None:
    found = parse({**GIVEN, "session.timeout.ms": str(session_ms)})
    expected = KafkaGroupSettings("cooperative-sticky", session_ms, max(1, session_ms // 3))
    assert found.protocol.kafka == expected


@pytest.mark.parametrize(("interval_ms", "session_ms"), [(500, 10_000), (4000, 12_000)])
def test_a_heartbeat_interval_alone_makes_the_session_timeout(
    interval_ms: int, session_ms: int
) -> None:
    found = parse({**GIVEN, "heartbeat.interval.ms": str(interval_ms)})
    assert found.protocol.kafka.session_timeout_ms == session_ms
    assert found.group.rebalance_wait_ms == session_ms + 2000
