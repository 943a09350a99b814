"""What a group looks like from outside is what it was at one moment, whatever happens meanwhile.

The real reads of a real server; what happens in between is done right before one of them is sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kazoo.client import KazooClient

from pyspark_zkgroup.inspect.group_reader import opened, read_group
from pyspark_zkgroup.inspect.report import report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.store import Store
from zkgroup_sandbox import Sandbox

GROUP = "g"
IDS, OWNERS, OFFSETS = (f"/consumers/{GROUP}/{kind}" for kind in ("ids", "owners/t", "offsets/t"))
REGISTRATION = b'{"version":1,"subscription":{"t":1},"pattern":"static","timestamp":"1"}'
TOPICS = {"t": (0, 1)}
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def client(zookeeper: Sandbox, chroot: str) -> Iterator[KazooClient]:
    made = KazooClient(zookeeper.zookeeper_connect + chroot)
    made.start()
    made.ensure_path(IDS)
    for partition in (0, 1):
        made.create(f"{OWNERS}/{partition}", b"a-0", makepath=True)
        made.create(f"{OFFSETS}/{partition}", b"10", makepath=True)
    made.create(f"{IDS}/a", REGISTRATION)
    yield made
    made.stop()
    made.close()


@pytest.fixture
def store(zookeeper: Sandbox, chroot: str, client: KazooClient) -> Iterator[Store]:
    with opened(zookeeper.zookeeper_connect + chroot) as made:
        yield made


def before_reading(store: Store, path: str, act: Callable[[], None], times: int = 1) -> None:
    """Let it happen right before the data or the children of `path` are asked for."""
    client: Any = store.session.client
    left = itertools.repeat(None, times)

    def watched(ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(asked_path: str, *given: Any, **named: Any) -> Any:
            if asked_path == path:
                for _ in left:
                    act()
                    break
            return ask(asked_path, *given, **named)

        return asked

    client.get_async = watched(client.get_async)
    client.get_children_async = watched(client.get_children_async)


def look(store: Store) -> GroupReport:
    return report(read_group(store, GROUP, TOPICS), {})


def test_an_owner_is_not_shown_with_what_its_successor_has_committed(
    client: KazooClient, store: Store
) -> None:
    def change_hands() -> None:
        client.delete(f"{OWNERS}/0")
        client.create(f"{OWNERS}/0", b"b-0")
        client.set(f"{OFFSETS}/0", b"20")

    before_reading(store, f"{OFFSETS}/0", change_hands)
    row = look(store).partitions[0]
    assert (row.owner, row.committed) == ("b-0", 20)


def test_who_leaves_is_not_shown_as_a_member_without_its_share(
    client: KazooClient, store: Store
) -> None:
    def leave() -> None:
        gone = client.transaction()
        for path in (f"{IDS}/a", f"{OWNERS}/0", f"{OWNERS}/1"):
            gone.delete(path)
        gone.commit()

    before_reading(store, f"{OWNERS}/0", leave)
    seen = look(store)
    assert seen.members == ()
    assert [(row.owner, row.state) for row in seen.partitions] == [(None, "unread")] * 2
    assert seen.notes == ()


def test_who_joins_and_claims_is_not_shown_as_unregistered(
    client: KazooClient, store: Store
) -> None:
    def join() -> None:
        client.create(f"{IDS}/b", REGISTRATION)
        client.delete(f"{OWNERS}/1")
        client.create(f"{OWNERS}/1", b"b-0")

    before_reading(store, OWNERS, join)
    seen = look(store)
    assert [(m.consumer, m.owns) for m in seen.members] == [("a", 1), ("b", 1)]
    assert [row.state for row in seen.partitions] == ["owned", "owned"]


def test_members_that_join_in_each_look_are_reported(client: KazooClient, store: Store) -> None:
    """And those that own something are members all the same, of the registry where they are."""
    numbers = itertools.count()

    def join() -> None:
        name = f"n{next(numbers)}"
        client.create(f"/consumers/groups/{GROUP}/ids/{name}", REGISTRATION, makepath=True)
        client.set(f"{OWNERS}/1", f"{name}-0".encode())

    before_reading(store, f"{OWNERS}/0", join, times=100)
    seen = look(store)
    assert next(numbers) < 20, "it looks again and again"
    assert "of different moments" in seen.notes[0]
    assert seen.protocol == "both"
    assert {row.state for row in seen.partitions} <= {"owned", "moving"}
    assert {m.consumer: m.protocol for m in seen.members}[seen.partitions[1].member or ""] == (
        "coordinator"
    )
