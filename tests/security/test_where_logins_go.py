"""Tokens and logins go to hosts that the user has named, or that prove what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.cli.config_file import Access
from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.light.conversation import Conversation, Outbox
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Accepted, Hello
from pyspark_zkgroup.protocols.light.server import Listener
from pyspark_zkgroup.security.kafka_security import KafkaSecurity
from pyspark_zkgroup.security.sasl import Password, Sasl
from pyspark_zkgroup.security.secret import Secret
from pyspark_zkgroup.security.tls import Tls
from tests.harness.given_options import LEAST, refusal
from tests.harness.group import missing, settle, twice
from tests.harness.light import TOKEN, LightGroup
from tests.harness.planted_secrets import PASSWORD
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.certificates import Certificates

COORDINATOR = "/consumers/coordinator"
LOGIN = {
    "kafka.sasl.mechanism": "PLAIN",
    "kafka.sasl.jaas.config": (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="alice" password="{PASSWORD}";'
    ),
}
NO_HOST_CHECK = {"kafka.ssl.endpoint.identification.algorithm": ""}
REFUSED = "the login would be sent to any host that a client writes into ZooKeeper"


@pytest.fixture(scope="module")
def trust(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    made = Certificates.make(tmp_path_factory.mktemp("certificates"))
    return {
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": made.ca.read_text(),
    }


@pytest.mark.parametrize("protocol", ["zookeeper", "coordinator"])
def test_a_login_without_proof_wants_brokers_that_are_named(
    protocol: str, trust: dict[str, str]
) -> None:
    for security in (
        {"kafka.security.protocol": "SASL_PLAINTEXT", **LOGIN},
        # By the system's authorities a thief has a certificate of his own host.
        {"kafka.security.protocol": "SASL_SSL", **LOGIN},
        {"kafka.security.protocol": "SASL_SSL", **LOGIN, **trust, **NO_HOST_CHECK},
    ):
        given = {**LEAST, "protocol": protocol, **security}
        assert REFUSED in refusal(given)
        assert parse({**given, "kafka.bootstrap.servers": "k:9"}).fetch.security.needs_named_brokers


def test_without_a_login_or_with_proof_brokers_may_be_those_in_zookeeper(
    trust: dict[str, str],
) -> None:
    for security in (
        {},
        {"kafka.security.protocol": "SSL"},
        {"kafka.security.protocol": "SSL", **trust, **NO_HOST_CHECK},
        {"kafka.security.protocol": "SASL_SSL", **LOGIN, **trust},
    ):
        assert not parse({**LEAST, **security}).fetch.bootstrap


def test_commands_send_no_login_to_a_registered_host(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark_zkgroup.cli import reach

    login = Sasl("PLAIN", Password("alice", Secret(PASSWORD)))
    given = KafkaSecurity("SASL_SSL", Tls(), login)
    monkeypatch.setattr(reach, "access_given", lambda: Access(kafka=given))
    with pytest.raises(OptionError, match="Give --bootstrap-servers"):
        LogEnds("", ["evil:9093"]).topics()


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[LightGroup]:
    made = LightGroup(sandbox)
    try:
        yield made
    finally:
        made.close()


class Thief:
    """Listens like a coordinator. A client that sends hello has given it the token."""

    def __init__(self) -> None:
        self.met: list[Hello] = []
        self.listener = Listener("127.0.0.1:0", TOKEN, self.greet, 10)
        self.address = f"127.0.0.1:{self.listener.port}"

    def greet(self, hello: Hello, outbox: Outbox, _caller: Caller) -> Conversation | None:
        self.met.append(hello)
        outbox.put(Accepted(1, 0, (self.address,)))
        return None


def test_a_forged_coordinator_is_not_given_the_token(
    group: LightGroup, caplog: pytest.LogCaptureFixture
) -> None:
    thief = Thief()
    group.client.ensure_path("/consumers")
    forged = json.dumps({"version": 1, "id": "forged", "address": thief.address}).encode()
    group.client.create(COORDINATOR, forged, ephemeral=True)
    try:
        for name in ("one", "two"):
            group.office(name)
        topic = group.topic(3)
        group.produce(topic, 10)
        query = group.query(topic)
        assert said_where(query, thief.address)
        assert thief.met == []
        assert "[ZKG-192]" in caplog.text
        group.client.delete(COORDINATOR)
        group.in_office()
        settle(query)
        assert missing(group, query.rows) == [] == twice(query.rows)
        assert thief.met == []
    finally:
        thief.listener.close()


def said_where(query: Query, address: str) -> bool:
    """The error of a query that finds no coordinator names whom it was led to."""

    def said() -> bool:
        try:
            query.trigger()
        except Exception as error:  # noqa: BLE001 - looked at
            return address in str(error) and "coordinator.addresses does not" in str(error)
        return False

    return wait_until(said, 30, "the query to say where it was led")
