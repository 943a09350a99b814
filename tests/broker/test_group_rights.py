"""protocol=kafka on brokers with ACLs: rights that are taken away while a query runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pyspark_zkgroup.errors import AccessError
from pyspark_zkgroup.model import TopicPartition
from tests.harness.planted_secrets import PASSWORD
from tests.harness.producing import produce
from tests.harness.secured_brokers import scram
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaQuery
from zkgroup_sandbox import Sandbox, access

CAROL = "User:carol"


@pytest.fixture(params=["GROUP", "TOPIC"])
def kind(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture
def query(servers: Sandbox, kind: str) -> Iterator[KafkaQuery]:
    (broker,) = servers.brokers
    name = f"rights-{kind.lower()}"
    servers.create_topic(name, 1)
    access.allow(broker, CAROL, name, ["READ", "DESCRIBE"])
    access.allow(broker, CAROL, name, ["READ"], kind="GROUP")
    made = KafkaQuery(
        {
            "protocol": "kafka",
            "group.id": name,
            "subscribe": name,
            "startingOffsets": "earliest",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
            "kafka.bootstrap.servers": broker.listener("sasl_plaintext"),
            "kafka.security.protocol": "SASL_PLAINTEXT",
            **scram(PASSWORD),
        }
    )
    yield made
    made.stop()


def test_a_query_whose_right_is_taken_away_ends_with_an_error_that_names_it(
    servers: Sandbox, query: KafkaQuery, kind: str
) -> None:
    name = f"rights-{kind.lower()}"
    (broker,) = servers.brokers
    produce(servers.bootstrap_servers, TopicPartition(name, 0), [b"1", b"2"])
    wait_until(lambda: bool(query.trigger()), 30, "a first batch")
    if kind == "GROUP":
        access.forbid(broker, CAROL, name, ["READ"], kind="GROUP")
    else:
        access.forbid(broker, CAROL, name, ["READ"])
    error: list[AccessError] = []

    def refused() -> bool:
        try:
            query.trigger()
        except AccessError as found:
            error.append(found)
        return bool(error)

    wait_until(refused, 30, "the refusal")
    assert ("GROUP" if kind == "GROUP" else f"may not read {name}-0") in error[0].what
    assert "Read on group" in error[0].remedy
