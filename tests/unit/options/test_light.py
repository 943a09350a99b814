"""protocol=light: what it needs, what it has no use for, and what only it knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.options.light import LightOptions
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.stream_access import StreamAccess
from tests.harness.planted_secrets import redaction

GIVEN = {
    "protocol": "light",
    "kafka.bootstrap.servers": "k:9",
    "coordinator.addresses": "c1:7000,c2:7000",
    "group.id": "billing",
    "subscribe": "orders",
}


def test_zookeeper_need_not_be_named() -> None:
    found = parse(GIVEN)
    assert (found.protocol.name, found.zookeeper.hosts) == ("light", "")
    assert found.protocol.light == LightOptions(("c1:7000", "c2:7000"), StreamAccess(), 10_000)
    assert found.group.rebalance_wait_ms == 12_000


def test_brokers_need_not_be_named_where_the_coordinator_shows_a_certificate() -> None:
    tls = {**GIVEN, "coordinator.ssl.client.enable": "true"}
    del tls["kafka.bootstrap.servers"]
    assert parse(tls).fetch.bootstrap == ()


def test_what_is_given_is_taken_and_no_secret_is_shown(tmp_path: Path) -> None:
    trust = tmp_path / "trust.pem"
    trust.write_text("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    found = parse(
        {
            **GIVEN,
            "session.timeout.ms": "4000",
            "coordinator.token": "open sesame",
            "coordinator.ssl.client.enable": "true",
            "coordinator.ssl.truststore.location": str(trust),
            "member.id": "one",
        }
    )
    assert found.protocol.light.session_timeout_ms == 4000
    assert found.protocol.light.access == StreamAccess(
        Secret("open sesame"), True, trust.read_text()
    )
    assert "sesame" not in repr(found)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"coordinator.addresses": None}, "(as 'protocol' is 'light') is missing"),
        ({"kafka.bootstrap.servers": None}, "without a certificate is not trusted"),
        ({"zookeeper.connect": "zk"}, "which needs no ZooKeeper"),
        ({"offsets.storage": "kafka"}, "which needs no ZooKeeper"),
        ({"heartbeat.interval.ms": "1000"}, "the coordinator asks each member"),
        ({"session.timeout.ms": "999"}, "takes 1000 and more"),
        ({"partition.assignment.strategy": "range"}, "the coordinator assigns"),
        ({"partition.assignment.strategy": "cooperative-sticky"}, "protocol"),
        ({"coordinator.candidate": "true"}, "'protocol' is 'light'"),
        ({"subscribe": None, "assign": '{"orders":[0]}'}, "assigned by hand"),
        ({"coordinator.ssl.truststore.location": "/x"}, "would have no effect"),
        (
            {
                "coordinator.ssl.client.enable": "true",
                "coordinator.ssl.keystore.location": "/not/there",
            },
            "which the driver cannot read",
        ),
        (
            {
                "coordinator.ssl.client.enable": "true",
                "coordinator.ssl.keystore.location": "/dev/null",
            },
            "holds no -----BEGIN",
        ),
        ({"protocol": "kafka", "kafka.bootstrap.servers": "k:9"}, "'protocol' is 'kafka'"),
    ],
)
def test_what_does_not_go_together_is_refused(changes: dict[str, str | None], named: str) -> None:
    merged: dict[str, str | None] = {**GIVEN, **changes}
    options = {name: text for name, text in merged.items() if text is not None}
    with pytest.raises(OptionError) as raised:
        parse(options)
    assert named in f"{raised.value}"
    assert raised.value.remedy


def test_a_batch_read_is_refused() -> None:
    with pytest.raises(OptionError, match="a batch read asks no coordinator"):
        parse(GIVEN, "batch")


def test_the_expression_of_the_manual_hides_the_token_in_a_plan() -> None:
    given = "coordinator.token=open sesame, group.id=billing, zookeeper.auth=digest:a:b"
    plan = re.sub(redaction(), "*", f"Relation zkgroup, [{given}], [key#1]")
    assert plan == "Relation zkgroup, [*, group.id=billing, *], [key#1]"
