"""The commands on groups that the brokers coordinate, on a real Kafka without ZooKeeper."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaGroup, kafka_group_of, settle
from tests.kafka.plain_consumers import PythonConsumer
from zkgroup_sandbox import Sandbox

PARTITIONS = 6
EACH = 20


@pytest.fixture
def group(sandbox_41: Sandbox) -> Iterator[KafkaGroup]:
    with kafka_group_of(sandbox_41) as made:
        yield made


def run(group: KafkaGroup, *arguments: str, status: int = 0) -> Result:
    servers = group.sandbox.bootstrap_servers
    result = CliRunner().invoke(main, [*arguments, "--bootstrap-servers", servers])
    assert result.exit_code == status, result.output
    return result


def value(group: KafkaGroup, *arguments: str) -> Any:
    return json.loads(run(group, *arguments, "--json").stdout)


def test_two_members_are_described_with_their_shares_and_lag(group: KafkaGroup) -> None:
    topic = group.topic(PARTITIONS)
    group.produce(topic, EACH)
    settle(group.query(topic), group.query(topic))
    group.produce(topic, EACH)
    seen = value(group, "describe", group.name)
    assert (seen["protocol"], seen["brokered"]["state"]) == ("kafka", "Stable")
    assert [(m["kind"], m["owns"]) for m in seen["members"]] == [("zkgroup", 3), ("zkgroup", 3)]
    names = {m["consumer"] for m in seen["members"]}
    assert {row["state"] for row in seen["partitions"]} == {"owned"}
    assert {row["member"] for row in seen["partitions"]} == names
    assert seen["lag"] == PARTITIONS * EACH
    assert value(group, "lag", group.name)["lag"] == PARTITIONS * EACH
    listed = {row["group"]: row for row in value(group, "groups")}
    assert listed[group.name]["members"] == 2
    assert listed[group.name]["lag"] == PARTITIONS * EACH
    members = value(group, "members", "list", group.name)["members"]
    assert {m["consumer"] for m in members} == names


def test_a_plain_consumer_is_a_member_like_any_other(group: KafkaGroup) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    consumer = PythonConsumer(group.sandbox.bootstrap_servers, group.name, topic)
    try:
        wait_until(lambda: consumer.held == 2, 30, "the consumer's share")
        (member,) = value(group, "describe", group.name)["members"]
    finally:
        consumer.close()
    assert (member["kind"], member["client"], member["owns"]) == ("consumer", "plain-python", 2)


def test_zookeeper_is_asked_first_and_then_the_brokers(group: KafkaGroup) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    settle(group.query(topic))
    connect = group.sandbox.zookeeper_connect
    seen = value(group, "describe", group.name, "--zookeeper", connect)
    assert seen["brokered"]["kind"] == "classic"
    assert group.name in {row["group"] for row in value(group, "groups", "--zookeeper", connect)}


def test_a_group_that_is_nowhere_is_refused_with_the_places_to_look(group: KafkaGroup) -> None:
    said = run(group, "describe", "nowhere", status=1).stderr
    assert "The brokers coordinate no group 'nowhere'" in said
    assert "--zookeeper" in said
