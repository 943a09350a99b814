"""Members that are asked from outside to leave, and members that are put out by force."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner, Result
from kazoo.client import KazooClient

from pyspark_zkgroup.cli import asking
from pyspark_zkgroup.cli.main import main
from pyspark_zkgroup.errors import StoppedError
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.planning import planner
from tests.harness.group import Group, group_of, missing, settle, twice
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def zkgroup(group: Group, *arguments: str) -> Result:
    environment = {"ZKGROUP_ZOOKEEPER": group.sandbox.kafka_zookeeper_connect, "COLUMNS": "160"}
    return CliRunner().invoke(main, arguments, env=environment)


def told(result: Result, status: int = 0) -> Any:
    assert result.exit_code == status, result.output
    return json.loads(result.stdout)


def members(group: Group) -> dict[str, dict[str, Any]]:
    found = told(zkgroup(group, "members", "list", group.name, "--json"))
    return {row["consumer"]: row for row in found["members"]}


@contextmanager
def turning(*queries: Query) -> Iterator[list[Exception]]:
    """Triggers them in turn, in a thread, while the command runs in this one."""
    over, raised = threading.Event(), list[Exception]()

    def run() -> None:
        left = list(queries)
        while left and not over.is_set():
            for query in tuple(left):
                try:
                    query.trigger()
                except Exception as error:  # noqa: BLE001 - the test looks at it
                    raised.append(error)
                    left.remove(query)
                    query.stop()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield raised
    finally:
        over.set()
        thread.join()


def test_a_drained_member_hands_all_over_stays_outside_and_comes_back(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(4)
        a, b = group.query(topic), group.query(topic)
        group.produce(topic, 20)
        settle(a, b)
        group.produce(topic, 20)
        consumer = a.membership.member
        with turning(a, b):
            answer = told(zkgroup(group, "members", "drain", group.name, consumer, "--json"))
            wait_until(
                lambda: (
                    {o.rpartition("-")[0] for o in group.owners(topic).values()}
                    == {b.membership.member}
                    and len(group.owners(topic)) == 4
                ),
                20.0,
                "b to have all",
            )
            listed = members(group)
        assert [one["state"] for one in answer] == ["drained"]
        assert (listed[consumer]["state"], listed[consumer]["request"]["kind"]) == (
            "drained",
            "drain",
        )
        assert group.client.get_children(f"/consumers/{group.name}/ids") == [b.membership.member]
        (again,) = told(zkgroup(group, "members", "drain", group.name, consumer, "--json"))
        assert again["state"] == "drained"
        by = listed[consumer]["request"]["by"]
        assert again["text"] == f"outside of the group already: drain, asked by {by}"
        assert members(group)[consumer]["request"] == listed[consumer]["request"]
        assert "outside of the group: drain, asked by" in str(a.planner.report_latest()["notes"])
        assert not a.held
        # It costs nothing while it waits, and comes back when it may.
        context = a.membership.keeper.context
        assert context is not None
        before = context.store.requests
        for _ in range(4):
            a.trigger()
        assert context.store.requests == before
        back = told(zkgroup(group, "members", "resume", group.name, consumer, "--json"))
        assert [one["state"] for one in back] == ["withdrawn"]
        group.produce(topic, 20)
        settle(a, b)
        assert len(a.held) == 2
        assert members(group)[consumer]["state"] == "member"
        rows = [*a.rows, *b.rows]
        assert missing(group, rows) == []
        assert twice(rows) == []


def test_a_query_is_stopped_from_outside_and_ends_by_saying_so(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_DRIVER_STOPS_S", 0.5)
    with group_of(sandbox) as group:
        topic = group.topic(2)
        query = group.query(topic)
        group.produce(topic, 5)
        settle(query)
        group.produce(topic, 5)
        with turning(query) as raised:
            (answer,) = told(zkgroup(group, "stop", group.name, "--all", "--yes", "--json"))
        assert answer["state"] == "ended"
        (error,) = raised
        assert isinstance(error, StoppedError)
        assert "everything it read is committed" in str(error)
        read = dict.fromkeys(range(2), 0)
        for _, partition, offset in query.rows:
            read[partition] = max(read[partition], offset + 1)
        assert {p: int(raw) for p, raw in group.offsets(topic).items()} == read
        assert members(group) == {}
        assert group.client.get_children(f"/consumers/{group.name}/zkgroup/requests") == []


def test_a_member_in_its_batch_answers_later_and_a_new_process_is_not_meant(
    sandbox: Sandbox,
) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        query = group.query(topic, member_id="static")
        group.produce(topic, 3)
        settle(query)
        consumer = query.membership.member
        pending = told(
            zkgroup(group, "members", "drain", group.name, "static", "--timeout", "0.3", "--json"),
            status=4,
        )
        assert [one["state"] for one in pending] == ["pending"]
        assert members(group)[consumer]["state"] == "asked"
        # Its process is replaced by one with the same member.id and checkpoint.
        query.crash()
        again = group.query(topic, query.checkpoint, member_id="static")
        group.produce(topic, 3)
        settle(again)
        assert len(again.held) == 1
        assert missing(group, [*query.rows, *again.rows]) == []


def test_a_stuck_member_is_evicted_and_one_that_works_is_not(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(4)
        a, b = group.query(topic), group.query(topic)
        group.produce(topic, 5)
        settle(a, b)
        group.produce(topic, 5)
        stuck = a.membership.member
        unread = set(a.held)

        def in_mid_batch(step: str) -> None:
            """a has read its batch and hangs; while it does, it is evicted and b reads on."""
            if step != "sunk":
                return
            arguments = ("members", "evict", group.name, stuck, "--timeout", "0.5", "--json")
            refused = zkgroup(group, *arguments)
            assert (refused.exit_code, "--yes" in refused.stderr) == (3, True)
            evicted = told(zkgroup(group, *arguments, "--yes"))
            assert (evicted["state"], len(evicted["deleted"])) == ("evicted", 3)
            settle(b)
            assert b.held >= unread

        a.trigger(at=in_mid_batch)
        lives = group.owner_lives(topic)
        offsets = group.offsets(topic)
        for _ in range(3):
            a.trigger()
        # Awake again it commits nothing, deletes nothing of b's, and stays outside.
        assert (group.owner_lives(topic), group.offsets(topic)) == (lives, offsets)
        assert not a.held
        assert members(group)[stuck]["state"] == "drained"
        again = twice([*a.rows, *b.rows])
        assert {partition for _, partition, _ in again} == {p.partition for p in unread}
        assert len(again) == 10, "the batch under way, and no more"
        assert missing(group, [*a.rows, *b.rows]) == []
        # One that answers goes by itself.
        told(zkgroup(group, "members", "resume", group.name, stuck, "--json"))
        settle(a, b)
        with turning(a, b):
            arguments = ("members", "evict", group.name, stuck, "--yes", "--json")
            assert told(zkgroup(group, *arguments))["state"] == "drained"


def test_one_whose_registration_is_gone_leaves_with_all_committed(sandbox: Sandbox) -> None:
    """As after an eviction that came only half way: a commit asks for the registration."""
    with group_of(sandbox) as group:
        topic = group.topic(1)
        query = group.query(topic)
        group.produce(topic, 5)
        settle(query)
        group.produce(topic, 5)
        arguments = ("members", "drain", group.name, query.membership.member, "--json")

        def in_mid_batch(step: str) -> None:
            if step == "sunk":
                told(zkgroup(group, *arguments, "--timeout", "0.2"), status=4)
                group.client.delete(f"/consumers/{group.name}/ids/{query.membership.member}")

        query.trigger(at=in_mid_batch)
        requests = query.membership.requests
        assert requests is not None
        wait_until(lambda: query.trigger() or requests.at_rest, 20.0, "it to rest")
        assert group.offsets(topic) == {0: b"10"}
        assert not query.held
        assert members(group)[query.membership.member]["state"] == "drained"


def test_a_jvm_consumer_with_a_session_is_neither_asked_nor_evicted(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        topic = group.topic(1)
        consumer = f"{group.name}_jvm-1-abcdef01"
        ids = f"/consumers/{group.name}/ids/{consumer}"
        text = f'{{"version":1,"subscription":{{"{topic}":1}},"pattern":"static","timestamp":"1"}}'
        owner = f"/consumers/{group.name}/owners/{topic}/0"
        peer = KazooClient(group.sandbox.kafka_zookeeper_connect)
        peer.start()
        try:
            peer.create(ids, text.encode(), ephemeral=True, makepath=True)
            peer.create(owner, f"{consumer}-0".encode(), ephemeral=True, makepath=True)
            for command in ("drain", "evict"):
                more = ("--yes",) if command == "evict" else ()
                result = zkgroup(group, "members", command, group.name, consumer, *more)
                assert result.exit_code == 1
                assert "Stop its process" in result.stderr
            assert peer.exists(owner)
        finally:
            peer.stop()
            peer.close()
        group.client.create(owner, b"unknown-0", makepath=True)
        arguments = ("members", "evict", group.name, "unknown", "--yes", "--json")
        assert told(zkgroup(group, *arguments))["deleted"] == [owner]
        assert not group.client.exists(owner)


def test_a_light_member_is_not_asked_what_it_cannot_see(sandbox: Sandbox) -> None:
    with group_of(sandbox) as group:
        consumer = f"{group.name}_light"
        seat = LightSeat("one", 10_000)
        registration = Registration(Subscription.static({"t": 1}), "1", "range", light=seat)
        path = f"/consumers/groups/{group.name}/ids/{consumer}"
        group.client.create(path, encode_registration(registration), makepath=True)
        for command in (("stop",), ("members", "drain")):
            result = zkgroup(group, *command, group.name, consumer)
            assert result.exit_code == 1
            assert f"{consumer} is a light member" in result.stderr
            assert "Stop its query" in result.stderr
        assert group.client.exists(path)


def test_a_drained_query_that_is_stopped_has_ended_as_asked(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_DRIVER_STOPS_S", 0.5)
    monkeypatch.setattr(asking, "_UNSEEN_S", 1.0)
    with group_of(sandbox) as group:
        topic = group.topic(1)
        query = group.query(topic)
        group.produce(topic, 5)
        settle(query)
        with turning(query) as raised:
            told(zkgroup(group, "members", "drain", group.name, query.membership.member, "--json"))
            (answer,) = told(zkgroup(group, "stop", group.name, "--all", "--yes", "--json"))
        assert answer["state"] == "ended"
        assert "its query has ended" in answer["text"]
        assert [type(error) for error in raised] == [StoppedError]
        assert group.client.get_children(f"/consumers/{group.name}/zkgroup/requests") == []


@pytest.mark.parametrize(
    "command",
    [
        ("members", "list", "nobodys"),
        ("members", "drain", "nobodys", "one"),
        ("members", "resume", "nobodys", "one"),
        ("members", "evict", "nobodys", "one", "--yes"),
        ("stop", "nobodys", "--all", "--yes"),
        ("stop", "nobodys", "one"),
    ],
    ids=" ".join,
)
def test_a_group_that_is_not_there_is_named(command: tuple[str, ...], group: Group) -> None:
    result = zkgroup(group, *command)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "There is no group 'nobodys': no members, no owners, no offsets" in result.stderr
    assert "zkgroup groups" in result.stderr


def test_a_group_without_members_is_there(group: Group) -> None:
    """By an offset, or by nothing but a request that stands and a member that rests."""
    for left in (
        "offsets/t/0",
        f"zkgroup/requests/{group.name}_a",
        f"zkgroup/resting/{group.name}_a",
    ):
        path = f"/consumers/{group.name}/{left}"
        group.client.create(path, b"0", makepath=True)
        assert members(group) == {}
        assert "0 members" in zkgroup(group, "members", "list", group.name).stdout
        stopped = zkgroup(group, "stop", group.name, "--all", "--yes")
        assert (stopped.exit_code, "has no zkgroup members" in stopped.stdout) == (0, True)
        assert zkgroup(group, "describe", group.name).exit_code == 0
        group.client.delete(path)
    assert zkgroup(group, "members", "list", group.name).exit_code == 1


def test_stop_all_asks_first_and_names_the_members(group: Group) -> None:
    topic = group.topic(1)
    query = group.query(topic)
    settle(query)
    environment = {"ZKGROUP_ZOOKEEPER": group.sandbox.kafka_zookeeper_connect}
    asked = ["stop", group.name, "--all"]
    refused = CliRunner().invoke(main, asked, env=environment, input="n\n")
    assert refused.exit_code == 1
    assert query.membership.member in refused.stdout
    assert f"Stop 1 member of group {group.name}? [y/N]" in refused.stdout
    assert "Nothing was changed: give --yes" in refused.stderr
    assert members(group)[query.membership.member]["request"] is None
    assert zkgroup(group, *asked, "--json").exit_code == 1
