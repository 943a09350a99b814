"""`zkgroup doctor` on real servers, well and ill."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient
from kazoo.security import READ_ACL_UNSAFE, make_digest_acl

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.sandbox import Sandbox
from tests.group import Group, settle


def doctor(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    result = CliRunner().invoke(main, ["doctor", "--json", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, {f["thing"]: f for f in json.loads(result.stdout)}


def test_all_is_well_where_a_group_is_at_work(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    query = group.query(topic)
    settle(query)
    status, found = doctor("--zookeeper", group._connect(), "--group", group.name)
    assert status == 0, found
    assert {f["state"] for f in found.values()} == {"well"}, found
    assert {"Python", "Java", "pyspark", "ZooKeeper", "permission", "clock", "brokers"} < set(found)
    assert "1 members and offsets of 2 partitions" in found["group"]["text"]
    consumers = set(group.client.get_children("/consumers"))
    assert not [name for name in consumers if name.startswith("zkgroup-doctor")]


def test_a_group_that_is_not_there_is_remarked(sandbox: Sandbox) -> None:
    connect = sandbox.kafka_zookeeper_connect
    status, found = doctor("--zookeeper", connect, "--group", "nobodys")
    assert status == 0
    assert found["group"]["state"] == "note"
    assert "check the chroot" in found["group"]["remedy"]


@pytest.mark.parametrize(
    ("arguments", "thing", "text"),
    [
        (("--zookeeper", "127.0.0.1:1"), "ZooKeeper", "did not answer"),
        (("--bootstrap-servers", "127.0.0.1:1"), "brokers", "No Kafka broker answered"),
    ],
)
def test_servers_that_are_away_are_ill(arguments: tuple[str, ...], thing: str, text: str) -> None:
    status, found = doctor(*arguments)
    assert status == 1
    assert found[thing]["state"] == "ill"
    assert text in found[thing]["text"]
    assert found[thing]["remedy"]


def test_a_node_that_may_not_be_written_below_is_named(sandbox: Sandbox) -> None:
    owner = KazooClient(sandbox.zookeeper_connect, auth_data=[("digest", "o:secret")])
    owner.start()
    try:
        acl = [make_digest_acl("o", "secret", all=True), READ_ACL_UNSAFE[0]]
        owner.create("/closed/consumers", makepath=True)
        owner.set_acls("/closed/consumers", acl)
        status, found = doctor("--zookeeper", f"{sandbox.zookeeper_connect}/closed")
        assert status == 1
        assert found["permission"]["state"] == "ill"
        assert (
            "does not let this client make nodes below /closed/consumers"
            in found["permission"]["text"]
        )
        assert "zookeeper.auth" in found["permission"]["remedy"]
    finally:
        owner.delete("/closed", recursive=True)
        owner.stop()
        owner.close()
