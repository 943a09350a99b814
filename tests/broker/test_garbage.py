"""Nodes that no consumer writes: they are reported, skipped, and used again once corrected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from pyspark_zkgroup.errors import BadZnodeError
from tests.harness.group import Group, known, missing, settle, twice, waits_for
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

HUGE = b"x" * 900_000


@pytest.fixture(autouse=True)
def looks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.owned.agenda._MEND_S", 0.5)


@pytest.fixture
def stranger(sandbox: Sandbox) -> Iterator[KazooClient]:
    client = KazooClient(sandbox.kafka_zookeeper_connect, timeout=10.0)
    client.start()
    yield client
    client.stop()
    client.close()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b'{"version":1}',
        b'{"version":1,"subscription":{"t":2147483647},"pattern":"static","timestamp":"1"}',
        b'{"version":1,"subscription":{"t":"two"},"pattern":"static","timestamp":"1"}',
        b'{"version":1,"subscription":{"((((":1},"pattern":"white_list","timestamp":"1"}',
        b"[" * 100_000,
        HUGE,
    ],
    ids=lambda data: f"{data[:20]!r}",
)
def test_a_registration_that_is_none(group: Group, data: bytes) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    path = f"/consumers/{group.name}/ids/junk"
    group.client.create(path, data, makepath=True)
    a = group.query(topic)
    settle(a)
    assert missing(group, a.rows) == []
    (note,) = [
        n
        for n in known(a)["notes"]
        if n.startswith("member junk is excluded from the assignment: ")
    ]
    assert path in note
    assert len(note) < 2000


def test_a_registration_with_nodes_below_it(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    group.client.create(f"/consumers/{group.name}/ids/junk/below", b"x", makepath=True)
    a = group.query(topic)
    settle(a)
    assert missing(group, a.rows) == []
    assert any("member junk is excluded" in note for note in known(a)["notes"])


@pytest.mark.parametrize("kind", ["owners", "offsets"])
@pytest.mark.parametrize("name", ["abc", "-1", "0x1", "9" * 5000, "00", "1 "])
def test_names_that_are_no_partition_are_passed_over(group: Group, kind: str, name: str) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    path = f"/consumers/{group.name}/{kind}/{topic}/{name}"
    group.client.create(path, b"junk", makepath=True)
    a = group.query(topic)
    settle(a)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert group.client.get(path)[0] == b"junk"


def test_data_and_nodes_where_none_belong(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    base = f"/consumers/{group.name}"
    for path in (base, f"{base}/ids", f"{base}/owners/{topic}", f"{base}/offsets/{topic}"):
        group.client.ensure_path(path)
        group.client.set(path, HUGE)
    group.client.create(f"{base}/offsets/{topic}/0/below", b"junk", makepath=True)
    group.client.set(f"{base}/offsets/{topic}/0", b"1")
    a = group.query(topic)
    settle(a)
    assert missing(group, a.rows) == [(topic, 0, 0)]
    assert group.offsets(topic) == dict.fromkeys(range(2), b"3")


@pytest.mark.parametrize("data", [b"", b"one", b"1.5", b"1 ", b"9" * 30, b"\xff", HUGE])
def test_an_unreadable_offset_waits_until_it_is_corrected(group: Group, data: bytes) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    node = group.offset_path(topic, 1)
    group.client.create(node, data, makepath=True)
    a = group.query(topic)
    a.until(3)
    assert waits_for(a, 1) == (
        f"{node} holds {data[:40]!r}, expected a decimal offset: set or delete the node"
    )
    assert group.client.get(node)[0] == data
    # Its own claims stir it once more; after that nothing does.
    wait_until(lambda: a.trigger() == 0 and not a.membership.stirred(), 10, "calm", interval_s=0.0)
    group.client.set(node, b"1")
    a.until(5)  # no watch fires when the node is corrected: it looks again by itself
    assert missing(group, a.rows) == [(topic, 1, 0)]


def test_an_owner_node_that_outlives_every_session(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 3)
    leaf, directory = (f"/consumers/{group.name}/owners/{topic}/{p}" for p in (0, 1))
    group.client.create(leaf, b"pasted_by_hand-0", makepath=True)
    group.client.create(f"{directory}/below", b"", makepath=True)
    a = group.query(topic)
    a.until(3)
    assert waits_for(a, 0) == (
        f"owned by pasted_by_hand-0 in a node that outlives every session: no member made it, "
        f"delete {leaf}"
    )
    assert waits_for(a, 1) == (
        f"owned by an empty name in a node that outlives every session: no member made it, "
        f"delete {directory}"
    )
    group.client.delete(leaf)
    group.client.delete(directory, recursive=True)
    a.until(9)
    assert missing(group, a.rows) == [] == twice(a.rows)


def test_a_node_that_can_have_no_children_is_named(group: Group, stranger: KazooClient) -> None:
    topic = group.topic(1)
    group.client.ensure_path(f"/consumers/{group.name}")
    stranger.create(f"/consumers/{group.name}/owners", b"", ephemeral=True)
    a = group.query(topic)

    def failed() -> BadZnodeError | None:
        try:
            a.trigger()
        except BadZnodeError as error:
            return error
        return None

    error = wait_until(failed, 10, "the query to fail", interval_s=0.0)
    assert error is not None
    assert f"Cannot create /consumers/{group.name}/owners/{topic}" in error.what
