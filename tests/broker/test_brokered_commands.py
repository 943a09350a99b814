"""The commands on groups that the brokers coordinate, on a real Kafka without ZooKeeper."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import StoppedError
from pyspark_zkgroup.planning import planner
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaGroup, KafkaQuery, kafka_group_of, settle
from tests.kafka.plain_consumers import PythonConsumer
from zkgroup_sandbox import Sandbox

PARTITIONS = 6
EACH = 20


@pytest.fixture
def group(sandbox_41: Sandbox) -> Iterator[KafkaGroup]:
    with kafka_group_of(sandbox_41) as made:
        yield made


def run(group: KafkaGroup, *arguments: str, status: int | None = 0) -> Result:
    servers = group.sandbox.bootstrap_servers
    wide = CliRunner(env={"COLUMNS": "200"})
    result = wide.invoke(main, [*arguments, "--bootstrap-servers", servers])
    assert status in (None, result.exit_code), result.output
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

    def described() -> object:
        (member,) = value(group, "describe", group.name)["members"]
        found = member["kind"], member["client"], member["owns"]
        assert found == ("consumer", "plain-python", 2)
        return member

    try:
        # After its first assignment kafka-python joins once more as soon as it has newer metadata;
        # meanwhile brokers name no assignment.
        wait_until(described, 30, "the consumer's share, as described")
        wait_until(lambda: consumer.held == 2, 30, "the consumer's share")
    finally:
        consumer.close()


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
    topic = group.topic(1)
    group.produce(topic, EACH)
    read_once(group, topic)
    near = f"{group.name}z"
    said = " ".join(run(group, "describe", near, status=1).stderr.split())
    assert f"no group '{near}': it has no members and no offsets (similar names: " in said
    assert f"{group.name}" in said.partition("similar names")[2]


def offsets_of(group: KafkaGroup) -> dict[str, int]:
    return dict(json.loads(run(group, "offsets", "export", group.name).stdout).popitem()[1])


def read_once(group: KafkaGroup, topic: str) -> None:
    query = group.query(topic)
    settle(query)
    query.stop()


def test_offsets_are_reset_and_the_undo_file_leads_back(group: KafkaGroup, tmp_path: Path) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    read_once(group, topic)
    assert offsets_of(group) == {"0": EACH, "1": EACH}
    undo = str(tmp_path / "undo.json")
    reset = ("offsets", "reset", group.name, "--to-offset", "4", "--undo", undo)
    assert "Nothing was changed" in run(group, *reset).stderr
    assert offsets_of(group) == {"0": EACH, "1": EACH}
    run(group, *reset, "--execute")
    assert value(group, "offsets", "show", group.name) == {topic: {"0": 4, "1": 4}}
    again = group.query(topic)
    settle(again)
    again.stop()
    assert sorted(again.rows) == [(topic, p, n) for p in (0, 1) for n in range(4, EACH)]
    run(group, "offsets", "import", group.name, undo, "--execute", "--undo", str(tmp_path / "2"))
    assert offsets_of(group) == {"0": EACH, "1": EACH}


def test_offsets_of_a_new_group_are_imported(group: KafkaGroup, tmp_path: Path) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    file = tmp_path / "offsets.json"
    file.write_text(json.dumps({topic: {"0": 5, "1": 999}}))
    shown = run(group, "offsets", "import", group.name, str(file), "--execute")
    assert "999 is beyond the log's end" in " ".join(shown.stdout.split())
    assert offsets_of(group) == {"0": 5, "1": EACH}


def test_offsets_under_live_members_are_refused_with_their_names(group: KafkaGroup) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    settle(group.query(topic))
    reset = ("offsets", "reset", group.name, "--to-earliest", "--execute")
    for more in ((), ("--force",)):
        said = " ".join(run(group, *reset, *more, status=1).stderr.split())
        assert "has 1 live member" in said
        assert group.name in said
    assert offsets_of(group) == {"0": EACH, "1": EACH}


def test_doctor_names_a_member_without_partitions(group: KafkaGroup) -> None:
    topic = group.topic(1)
    group.produce(topic, EACH)
    settle(group.query(topic), group.query(topic))
    asked = ("doctor", "--group", group.name, "--watch-seconds", "1")
    texts = [f["text"] for f in value(group, *asked) if f["thing"] == "member"]
    assert len(texts) == 1
    assert "owns nothing: 2 members share 1 partition of" in texts[0]


def test_doctor_looks_at_all_groups_of_the_brokers(group: KafkaGroup) -> None:
    topic = group.topic(1)
    group.produce(topic, EACH)
    read_once(group, topic)
    # Its status tells of the groups of other tests as well.
    said = run(group, "doctor", "--all-groups", "--watch-seconds", "0", "--json", status=None)
    assert f"{group.name}: group" in {finding["thing"] for finding in json.loads(said.stdout)}
    said = run(group, "doctor", f"{group.name}x", "--json")
    (found,) = [one for one in json.loads(said.stdout) if one["thing"] == "group"]
    assert f"here (similar names: {group.name}" in found["text"]


@contextmanager
def triggered(*queries: KafkaQuery) -> Iterator[list[StoppedError]]:
    """Trigger the queries in turn, each until it ends; the list has the errors with which they
    did.
    """
    over, ends = threading.Event(), []

    def turn() -> None:
        running = list(queries)
        while running and not over.is_set():
            for query in list(running):
                try:
                    query.trigger()
                except StoppedError as error:
                    ends.append(error)
                    running.remove(query)

    thread = threading.Thread(target=turn)
    thread.start()
    try:
        yield ends
    finally:
        over.set()
        thread.join()


def states(group: KafkaGroup) -> list[tuple[str, str | None]]:
    members = value(group, "members", "list", group.name)["members"]
    return sorted((m["state"], m["request"] and m["request"]["kind"]) for m in members)


def test_a_member_is_drained_comes_back_and_is_stopped(
    group: KafkaGroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_DRIVER_STOPS_S", 0.5)
    topic = group.topic(2)
    group.produce(topic, EACH)
    first, second = group.query(topic), group.query(topic)
    settle(first, second)
    members = {m["consumer"]: m for m in value(group, "members", "list", group.name)["members"]}
    member = first.kafka.kept.member.id
    assert members[member]["state"] == "member"
    with triggered(first, second) as ends:
        said = run(group, "members", "drain", group.name, member).stdout
        assert said == f"{member}: left the group, and stays outside\n"
        assert states(group) == [("drained", "drain"), ("member", None)]
        assert "drain by" in run(group, "members", "list", group.name).stdout
        again = run(group, "members", "drain", group.name, member).stdout
        assert "outside of the group already: drain, asked by" in again
        wait_until(lambda: len(second.held) == 2, 30, "the other to take over")
        group.produce(topic, EACH)
        wait_until(lambda: offsets_of(group) == {"0": 40, "1": 40}, 30, "the rest to be read")
        run(group, "members", "resume", group.name, member)
        wait_until(lambda: len(first.held) == 1, 30, "it to come back")
        run(group, "stop", group.name, "--all", "--yes")
        wait_until(lambda: len(ends) == 2, 30, "both queries to end")
    assert states(group) == []
    rows = [(topic, p, n) for p in range(2) for n in range(2 * EACH)]
    assert sorted([*first.rows, *second.rows]) == rows
    listed = {row["group"] for row in value(group, "groups")}
    assert group.name in listed
    assert not any(name.endswith("requests") for name in listed)


def test_a_member_that_does_not_get_to_a_boundary_is_asked_until_it_does(group: KafkaGroup) -> None:
    topic = group.topic(1)
    group.produce(topic, EACH)
    query = group.query(topic)
    settle(query)
    asked = ("members", "drain", group.name, group.name, "--timeout", "1")
    assert "no answer yet" in run(group, *asked, status=4).stdout
    assert states(group) == [("asked", "drain")]
    with triggered(query):
        wait_until(lambda: states(group) == [("drained", "drain")], 30, "it to leave")


def test_a_plain_consumer_cannot_be_asked(group: KafkaGroup) -> None:
    topic = group.topic(1)
    consumer = PythonConsumer(group.sandbox.bootstrap_servers, group.name, topic)
    try:
        wait_until(lambda: consumer.held == 1, 30, "the consumer's share")
        said = " ".join(run(group, "stop", group.name, "plain", status=1).stderr.split())
    finally:
        consumer.close()
    assert "is not a zkgroup member (plain-python at 127.0.0.1)" in said
    assert "does not accept requests" in said


def test_eviction_is_refused(group: KafkaGroup) -> None:
    topic = group.topic(1)
    group.produce(topic, EACH)
    settle(group.query(topic))
    evict = ("members", "evict", group.name, group.name, "--yes")
    said = " ".join(run(group, *evict, status=1).stderr.split())
    assert "cannot be evicted: the brokers coordinate it" in said


def test_top_shows_shares_and_what_has_moved(group: KafkaGroup) -> None:
    topic = group.topic(2)
    group.produce(topic, EACH)
    first = group.query(topic)
    settle(first)
    second = group.query(topic)
    over = threading.Event()

    def turn() -> None:
        while not over.is_set():
            first.trigger()
            second.trigger()

    thread = threading.Thread(target=turn)
    asked = ("top", group.name, "--interval", "0.5", "--looks", "12")
    thread.start()
    try:
        shown = run(group, *asked).stdout
    finally:
        over.set()
        thread.join()
    assert "2 members, 2 partitions, lag 0" in shown
    assert "joined: " in shown or shown.startswith(f"group {group.name}, classic protocol, Prep")


def test_assignment_foresees_another_member(group: KafkaGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, EACH)
    settle(group.query(topic), group.query(topic))
    owners = value(group, "assignment", group.name)["owners"][topic]
    assert sorted(Counter(owners.values()).values()) == [2, 2]
    more = value(group, "assignment", group.name, "--with", "third")["owners"][topic]
    assert sorted(Counter(more.values()).values()) == [1, 1, 2]
    assert "third" in more.values()
