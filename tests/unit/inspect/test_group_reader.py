"""Groups as they are read from their nodes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.group.ops import Create, Delete, SetData
from pyspark_zkgroup.group.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    CONSUMERS,
    COORDINATOR,
    CoordinatedPaths,
    GroupPaths,
)
from pyspark_zkgroup.inspect import group_reader
from pyspark_zkgroup.inspect.group_reader import (
    Traces,
    opened,
    read_brokers,
    read_group,
    read_groups,
    read_topics,
    read_traces,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import SessionSettings
from pyspark_zkgroup.zk.store import Node
from tests.fakes.standing import FakeEnsemble
from tests.fakes.store import FakeStore

PATHS, COORDINATED = GroupPaths("g"), CoordinatedPaths("g")
T = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]


@pytest.fixture
def store() -> FakeStore:
    ensemble = FakeEnsemble()
    return ensemble.store(ensemble.open(5000, ""))


def make(store: FakeStore, nodes: dict[str, bytes]) -> None:
    store.ensure({path.rpartition("/")[0] for path in nodes})
    store.commit([(Create(path, data),) for path, data in nodes.items()])


def test_each_partition_has_its_owner_and_its_offset(store: FakeStore) -> None:
    make(store, {PATHS.id("a"): b"x", PATHS.id("b"): b"y"})
    make(store, {PATHS.owner(T[0]): b"a-0", PATHS.owner(T[2]): b"b-0"})
    make(store, {PATHS.offset(p): b"%d" % n for n, p in enumerate(T)})
    store.commit([(SetData(PATHS.offset(T[1]), b"7", 0),)])
    found = read_group(store, "g", {"t": (0, 1)})
    assert {c: seen.data for c, seen in found.ids.items()} == {"a": b"x", "b": b"y"}
    assert {p: seen.data for p, seen in found.owners.items()} == {T[0]: b"a-0", T[2]: b"b-0"}
    assert found.offsets == {T[0]: b"0", T[1]: b"7", T[2]: b"2"}
    lives = [node.node.czxid for node in store.stats([PATHS.offset(p) for p in T]) if node]
    assert [found.written[p].life for p in T] == lives
    assert (found.told, found.coordinator, found.commands) == (frozenset(), None, {})
    assert not found.stirred


def test_members_of_a_coordinator_have_their_commands(store: FakeStore) -> None:
    command = COORDINATED.command("a", "0000000001")
    make(store, {COORDINATED.id("a"): b"x", COORDINATOR: b"{}", command: b"go"})
    found = read_group(store, "g", {})
    assert found.told == {"a"}
    assert found.coordinator is not None
    assert found.coordinator.data == b"{}"
    assert found.commands == {"a": {command: b"go"}}


def test_groups_are_listed_from_both_registries(store: FakeStore) -> None:
    make(store, {COORDINATED.id("a"): b"", COORDINATOR: b"", f"{CONSUMERS}/other": b""})
    assert read_groups(store) == ("g", "other")


@pytest.mark.parametrize(
    ("node", "traces"),
    [
        (PATHS.id("a"), Traces(has_members=True, is_there=True)),
        (COORDINATED.id("a"), Traces(has_members=True, is_there=True)),
        (PATHS.owner(T[0]), Traces(has_members=False, is_there=True)),
        (PATHS.offset(T[0]), Traces(has_members=False, is_there=True)),
        (f"{CONSUMERS}/other", Traces(has_members=False, is_there=False)),
    ],
)
def test_a_group_leaves_traces(store: FakeStore, node: str, traces: Traces) -> None:
    make(store, {node: b""})
    assert read_traces(store, "g") == traces


def test_topics_and_brokers_are_read_where_brokers_register(store: FakeStore) -> None:
    broker = b'{"version":4,"host":"b1","port":9092,"endpoints":["PLAINTEXT://b1:9092"]}'
    make(store, {f"{BROKER_TOPICS}/t": b'{"partitions":{"0":[1],"1":[1]}}'})
    make(store, {f"{BROKER_IDS}/1": broker, f"{BROKER_IDS}/2": b"rubbish"})
    assert read_topics(store) == {"t": (0, 1)}
    assert read_brokers(store) == ("b1:9092",)
    assert read_brokers(store, "SSL") == ()


class Busy(FakeStore):
    """Something happens right before the data of a node is read, each time."""

    path = ""
    act: Callable[[], None] = staticmethod(lambda: None)

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        if self.path in paths:
            self.act()
        return super().nodes(paths, watch=watch)


@pytest.mark.parametrize("at", [PATHS, COORDINATED])
def test_a_member_that_joins_in_each_look_is_registered_all_the_same(
    store: FakeStore, at: GroupPaths
) -> None:
    make(store, {PATHS.id("a"): b"x", at.id("z"): b"z", PATHS.owner(T[0]): b"a-0"})
    make(store, {PATHS.owner(T[1]): b"a-0", PATHS.owner(T[2]): b"gone-0"})
    busy, numbers = Busy(store.session), itertools.count()

    def join() -> None:
        name = f"n{next(numbers)}"
        store.commit([(Create(at.id(name), b"new"),)])
        store.commit([(SetData(PATHS.owner(T[1]), f"{name}-0".encode(), -1),)])

    busy.path, busy.act = PATHS.owner(T[0]), join
    found = read_group(busy, "g", {})
    assert next(numbers) < 20, "it looks again and again"
    assert found.stirred
    newcomer = found.owners[T[1]].data.decode().removesuffix("-0")
    assert found.ids[newcomer].data == b"new"
    assert "gone" not in found.ids
    assert found.owners[T[2]].data == b"gone-0"
    is_told = at is COORDINATED
    assert (newcomer in found.told, "z" in found.told) == (is_told, is_told)
    assert "a" not in found.told


def test_an_owner_that_leaves_during_each_look_is_not_shown_as_an_owner(store: FakeStore) -> None:
    make(store, {PATHS.id("a"): b"x", PATHS.owner(T[0]): b"a-0", PATHS.offset(T[0]): b"1"})
    busy, numbers = Busy(store.session), itertools.count()

    def come_and_go() -> None:
        number = next(numbers)
        if number % 2:
            store.commit([(Create(PATHS.owner(T[0]), b"gone-0"),)])
        else:
            store.commit([(Delete(PATHS.owner(T[0]), -1),)])

    busy.path, busy.act = PATHS.owner(T[0]), come_and_go
    found = read_group(busy, "g", {})
    assert found.stirred
    assert found.ids.keys() == {"a"}
    assert found.offsets == {T[0]: b"1"}


@pytest.mark.parametrize("set_acl", [None, True])
def test_a_session_is_opened_for_a_command_and_closed_after_it(
    monkeypatch: pytest.MonkeyPatch, set_acl: bool | None
) -> None:
    sessions: list[Opened] = []

    class Opened:
        def __init__(self, settings: SessionSettings, _events: object) -> None:
            self.settings = settings
            self.calls: list[str] = []
            sessions.append(self)

        def open(self) -> None:
            self.calls.append("open")

        def close(self) -> None:
            self.calls.append("close")

    monkeypatch.setattr(group_reader, "Session", Opened)
    monkeypatch.setattr(group_reader, "Store", lambda session: session)
    given: dict[str, Any] = {} if set_acl is None else {"set_acl": set_acl}
    with opened("zk1:2181,zk2:2181/kafka", **given):
        assert sessions[0].calls == ["open"]
    (session,) = sessions
    assert session.calls == ["open", "close"]
    assert (session.settings.hosts, session.settings.chroot) == ("zk1:2181,zk2:2181", "/kafka")
    assert session.settings.set_acl is bool(set_acl)


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(OptionError), opened("zk1:port"):
        pass
