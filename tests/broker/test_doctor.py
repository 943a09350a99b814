"""`zkgroup doctor` on real servers, well and ill."""

from __future__ import annotations

import json
import re
import threading
from typing import Any

import pytest
from click.testing import CliRunner
from kazoo.client import KazooClient
from kazoo.security import READ_ACL_UNSAFE, make_digest_acl

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.records.choice import slow_because
from tests.harness.group import Group, settle
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Producer

SLOW = () if slow_because() is None else ("native decoder",)
"""What doctor remarks where the package was built without Rust."""


@pytest.fixture(autouse=True)
def no_haste(monkeypatch: pytest.MonkeyPatch) -> None:
    """How fast a server answers depends on what else runs here."""
    monkeypatch.setattr("pyspark_zkgroup.cli.health._SLOW_S", 60.0)


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
    # The sandbox's ZooKeeper has no ACLs.
    assert {name for name, f in found.items() if f["state"] != "well"} == {"ACLs", *SLOW}, found
    assert {"Python", "Java", "pyspark", "ZooKeeper", "permission", "clock", "brokers"} < set(found)
    assert "1 member and offsets of 2 partitions" in found["group"]["text"]
    consumers = set(group.client.get_children("/consumers"))
    assert not [name for name in consumers if name.startswith("zkgroup-doctor")]


def test_a_group_that_is_not_there_is_remarked(sandbox: Sandbox) -> None:
    connect = sandbox.kafka_zookeeper_connect
    status, found = doctor("--zookeeper", connect, "--group", "nobodys")
    assert status == 0
    assert found["group"]["state"] == "note"
    assert "the chroot of --zookeeper" in found["group"]["remedy"]


def test_briefly_only_what_is_not_well_is_shown(sandbox: Sandbox) -> None:
    asked = ("--brief", "--zookeeper", sandbox.kafka_zookeeper_connect, "--group", "nobodys")
    assert list(doctor(*asked)[1]) == [*SLOW, "group", "ACLs"]
    shown = CliRunner().invoke(main, ["doctor", *asked]).stdout
    assert "check the name" in shown
    assert "kazoo" not in shown
    ((well, looked_at),) = re.findall(r"^(\d+) of (\d+) checks are in order$", shown, re.MULTILINE)
    assert int(well) == int(looked_at) - 2 - len(SLOW)


def test_a_slow_server_is_remarked_on(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark_zkgroup.cli.health._SLOW_S", 0.0)
    status, found = doctor("--zookeeper", sandbox.kafka_zookeeper_connect)
    assert found["ZooKeeper"]["state"] == "note"
    assert "That is slow" in found["ZooKeeper"]["remedy"]
    assert status == 0


def test_all_groups_are_looked_at_each_by_its_name(group: Group) -> None:
    """The second look is for all at once, so one time is enough for them."""
    topic = group.topic(1)
    group.produce(topic, 5)
    query = group.query(topic)
    settle(query)
    connect = group._connect()
    _, found = doctor("--zookeeper", connect, "--all-groups", "--watch-seconds", "0")
    assert "1 member and" in found[f"{group.name}: group"]["text"]
    _, found = doctor("--zookeeper", connect, "--group", group.name, "--group", "nobodys")
    assert found[f"{group.name}: group"]["state"] == "well"
    assert "Are these all of its queries?" in found[f"{group.name}: group"]["remedy"]
    assert found["nobodys: group"]["state"] == "note"


@pytest.mark.parametrize("options", [["--group", "g"], ["--all-groups"]])
def test_a_group_without_zookeeper_is_wrong_usage(options: list[str]) -> None:
    result = CliRunner().invoke(main, ["doctor", *options], env={"ZKGROUP_ZOOKEEPER": None})
    assert result.exit_code == 2
    assert "give --bootstrap-servers, or --zookeeper for groups in ZooKeeper" in result.stderr


def test_what_is_wrong_with_a_group_is_found_and_its_remedy_corrects_it(group: Group) -> None:
    topic = group.topic(2)
    path = f"/consumers/{group.name}/owners/{topic}/1"
    group.client.create(path, b"gone-0", makepath=True)
    query = group.query(topic)
    wait_until(lambda: query.trigger() or len(query.held) == 1, 10, "the other to be held")
    arguments = ("--zookeeper", group._connect(), "--group", group.name, "--watch-seconds", "0")
    status, found = doctor(*arguments)
    assert (status, found["owner"]["state"]) == (1, "ill")
    assert found["owner"]["text"].startswith(f"[ZKG-201] {topic}-1 cannot be claimed")
    assert "gone-0" in found["owner"]["text"]
    assert path in found["owner"]["remedy"]
    command = f"zkgroup members evict {group.name} gone"
    assert f"`{command}`" in found["owner"]["remedy"]
    evicted = CliRunner().invoke(
        main, [*command.split()[1:], "--yes", "--zookeeper", group._connect()]
    )
    assert evicted.exit_code == 0, evicted.output
    settle(query)
    status, found = doctor(*arguments)
    assert (status, "owner" in found) == (0, False), found


def test_a_group_is_looked_at_twice_where_records_wait(group: Group) -> None:
    """Commits between the two looks are reported."""
    topic = group.topic(3)
    query = group.query(topic, maxOffsetsPerTrigger="1")
    settle(query)
    with Producer(group.sandbox.bootstrap_servers, topic) as producer:
        producer.send({2: [(b"k", b"v")] * 9000})
    arguments = ("--zookeeper", group._connect(), "--group", group.name, "--watch-seconds", "2")
    ended = threading.Event()

    def read_on() -> None:
        while not ended.is_set():
            query.trigger()

    thread = threading.Thread(target=read_on)
    thread.start()
    try:
        status, found = doctor(*arguments)
    finally:
        ended.set()
        thread.join()
    assert status == 0
    text = found["lag"]["text"]
    assert text.startswith(f"[ZKG-214] {topic}-2, read by {query.membership.member}, lag by")
    told = re.search(r"in [0-9]+ s ([0-9,]+) arrived and ([0-9,]+) were committed", text)
    assert told is not None, text
    assert told[1] == "0"
    assert int(told[2].replace(",", "")) > 0


@pytest.mark.parametrize(
    ("arguments", "thing", "text"),
    [
        (("--zookeeper", "127.0.0.1:1"), "ZooKeeper", "did not answer"),
        (("--bootstrap-servers", "127.0.0.1:1"), "brokers", "No Kafka broker answered"),
    ],
)
def test_servers_that_are_away_are_ill(
    arguments: tuple[str, ...], thing: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.cli.reach._ANSWER_S", 1.0)
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
            "does not allow this client to make nodes below /closed/consumers"
            in found["permission"]["text"]
        )
        assert "zookeeper.auth" in found["permission"]["remedy"]
    finally:
        owner.delete("/closed", recursive=True)
        owner.stop()
        owner.close()
