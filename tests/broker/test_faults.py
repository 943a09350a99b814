"""Sessions, nodes and servers go away under a running query. It continues, and reports what it
waits for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from tests.harness.group import Group, all_rows, group_of, known, missing, settle, twice, waits_for
from tests.harness.spark_order import Checkpoint
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.cut import Cut


def test_a_session_that_expires_in_mid_batch_costs_nothing_if_no_member_took_over(
    group: Group,
) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    a = group.query(topic)
    a.trigger(lambda step: group.expire(a) if step == "read" else None)
    assert group.owners(topic) == {}
    group.produce(topic, 5)
    settle(a)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert group.offsets(topic) == dict.fromkeys(range(4), b"10")


def test_a_session_that_expires_in_mid_batch_commits_nothing_that_another_took(
    group: Group,
) -> None:
    topic = group.topic(4)
    group.produce(topic, 5)
    a, b = group.query(topic), group.query(topic)

    def lose(step: str) -> None:
        if step == "read":
            group.expire(a)
            settle(b)

    a.trigger(lose)
    assert len(b.held) == 4
    assert missing(group, b.rows) == [] == twice(b.rows)
    group.produce(topic, 5)
    settle(a, b)
    rows = all_rows(a, b)
    assert missing(group, rows) == []
    # Only the batch in flight at the expiry came twice.
    assert twice(rows) == sorted(a.batches[0][1])
    assert group.offsets(topic) == dict.fromkeys(range(4), b"10")


def test_an_owner_node_of_ours_is_deleted_while_we_live(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 5)
    a = group.query(topic)

    def delete(step: str) -> None:
        if step == "read":
            group.client.delete(f"/consumers/{group.name}/owners/{topic}/1")

    a.trigger(delete)
    group.produce(topic, 5)
    settle(a)
    assert len(group.owners(topic)) == 3
    assert missing(group, a.rows) == [] == twice(a.rows)


def test_our_registration_is_deleted_while_we_live(group: Group) -> None:
    topic = group.topic(2)
    a = group.query(topic)
    settle(a)
    path = f"/consumers/{group.name}/ids/{a.membership.member}"
    group.client.delete(path)

    def registered() -> bool:
        a.trigger()
        return group.client.exists(path) is not None

    wait_until(registered, 10, "the registration to be back", interval_s=0.0)
    group.produce(topic, 5)
    a.until(10)
    assert twice(a.rows) == []


@pytest.fixture
def stranger(sandbox: Sandbox) -> Iterator[KazooClient]:
    client = KazooClient(sandbox.kafka_zookeeper_connect, timeout=10.0)
    client.start()
    yield client
    client.stop()
    client.close()


def test_a_stuck_foreign_owner_is_waited_for_by_name_and_the_rest_is_read(
    group: Group, stranger: KazooClient
) -> None:
    topic = group.topic(3)
    group.produce(topic, 5)
    node = f"/consumers/{group.name}/owners/{topic}/1"
    stranger.create(node, b"stuck_jvm-0", ephemeral=True, makepath=True)
    a = group.query(topic)
    a.until(10)
    session = stranger.client_id[0]
    named = f"owned by stuck_jvm-0, which is not registered: it goes with session {session:#x}"
    assert waits_for(a, 1).startswith(named)
    assert known(a)["waiting"][f"{topic}-1"].startswith(named)
    stranger.delete(node)
    a.until(15)
    assert missing(group, a.rows) == [] == twice(a.rows)


def test_a_partition_that_its_assigned_member_does_not_claim_is_named(
    group: Group, stranger: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JVM member that assigns differently never claims what our target gives it."""
    monkeypatch.setattr("pyspark_zkgroup.protocols.zookeeper.unread._PATIENCE_S", 0.0)
    topic = group.topic(4)
    path = f"/consumers/{group.name}/ids/{group.name}_aaa"
    registration = (
        b'{"version":1,"subscription":{"%s":2},"pattern":"static","timestamp":"1"}' % topic.encode()
    )
    stranger.create(path, registration, ephemeral=True, makepath=True)
    a = group.query(topic)
    settle(a)
    assert len(a.held) == 2
    for _ in range(3):
        a.trigger()
    named = [note for note in known(a)["notes"] if "has had no owner" in note]
    assert len(named) == 2
    assert "partition.assignment.strategy" in named[0]


def test_a_jvm_member_that_gave_up_is_woken_by_a_node_that_no_member_sees(
    group: Group, stranger: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.zookeeper.unread._PATIENCE_S", 0.0)
    topic = group.topic(4)
    path = f"/consumers/{group.name}/ids"
    registration = (
        b'{"version":1,"subscription":{"%s":2},"pattern":"static","timestamp":"1"}' % topic.encode()
    )
    stranger.create(f"{path}/{group.name}_aaa", registration, ephemeral=True, makepath=True)
    a = group.query(topic)
    settle(a)
    seen: list[list[str]] = []
    woken = threading.Event()

    def changed(_event: object) -> None:
        seen.append(stranger.get_children(path))
        woken.set()

    stranger.get_children(path, watch=changed)

    def nudged() -> bool:
        a.trigger()
        return woken.is_set()

    wait_until(nudged, 10, "the other member's watch to fire", interval_s=0.0)
    assert sorted(seen[0]) == sorted([f"{group.name}_aaa", a.membership.member])


def test_a_blind_writer_moves_the_offset_and_is_followed(group: Group) -> None:
    """A JVM member that wakes up after its expiry commits without looking."""
    topic = group.topic(1)
    group.produce(topic, 6)
    a = group.query(topic)
    a.until(6)
    a.trigger()
    group.client.set(group.offset_path(topic, 0), b"2")
    group.produce(topic, 1)
    settle(a)
    assert sorted(offset for _, _, offset in a.rows) == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6]
    assert group.offsets(topic) == {0: b"7"}


@pytest.mark.parametrize("taken", [False, True])
def test_a_bare_stop_commits_the_last_batch_on_the_evidence_of_the_commit_log(
    group: Group, tmp_path: Path, taken: bool
) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    checkpoint = Checkpoint(directory=tmp_path)
    evidence: dict[str, Any] = {"evidence": str(tmp_path)} if taken else {}
    a = group.query(topic, checkpoint, **evidence)
    a.trigger()
    a.stop()
    assert group.offsets(topic) == dict.fromkeys(range(2), b"5" if taken else b"0")


def test_a_stop_in_mid_batch_commits_nothing_of_it(group: Group, tmp_path: Path) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    checkpoint = Checkpoint(directory=tmp_path)
    a = group.query(topic, checkpoint, evidence=str(tmp_path))
    a.trigger()
    group.produce(topic, 5)
    a.trigger(lambda step: a.stop() if step == "read" else None)
    assert group.offsets(topic) == dict.fromkeys(range(2), b"5")
    assert group.owners(topic) == {}


@pytest.fixture
def own_group(new_sandbox: Callable[..., Sandbox]) -> Iterator[Group]:
    with group_of(new_sandbox(kafka="4.1")) as made:
        yield made


def test_zookeeper_restarts_and_reading_continues(own_group: Group) -> None:
    group = own_group
    topic = group.topic(4)
    group.produce(topic, 5)
    server = group.sandbox.zookeepers[0]
    with Cut([server.address]) as route:
        options = group.options(topic, session="12000", refresh="1000")
        a = group.query_of({**options, "zookeeper.connect": route.addresses})
        a.until(20)
        lives = group.owner_lives(topic)
        # It listens before it answers, and who connects then may wait until its session has ended.
        route.refuse()
        server.kill()
        for _ in range(3):
            group.produce(topic, 5)
            rows = len(a.rows)
            a.until(rows + 20)  # on the lease: the session cannot have ended yet
        assert any("ZooKeeper silent" in note for note in known(a)["notes"])
        server.start()
        route.heal()

        def committed() -> bool:
            a.trigger()
            back = a.membership.keeper.offline_since is None
            return back and group.offsets(topic) == dict.fromkeys(range(4), b"20")

        # Longer than a session: this test's own client may meet the server before it answers.
        wait_until(committed, 60, "the commits to reach ZooKeeper", interval_s=0.0)
        assert group.owner_lives(topic) == lives
        assert missing(group, a.rows) == [] == twice(a.rows)
        a.stop()


def test_without_zookeeper_nothing_is_planned_once_the_lease_is_over(own_group: Group) -> None:
    group = own_group
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, session="3000")
    settle(a)
    group.sandbox.zookeepers[0].pause()
    try:
        session = a.membership.keeper.session
        assert session is not None
        wait_until(lambda: session.lease_left_s() <= 0, 10, "the lease to end")
        group.produce(topic, 5)
        assert a.trigger() == 0
        assert any("ZooKeeper silent" in note for note in known(a)["notes"])
    finally:
        group.sandbox.zookeepers[0].resume()
    a.until(20)
    assert missing(group, a.rows) == [] == twice(a.rows)
