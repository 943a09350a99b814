"""A coordinator's term, on a real ZooKeeper and on the fake: its reads and its commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, Delete, SetData
from pyspark_zkgroup.group.paths import BROKER_IDS, BROKER_TOPICS, COORDINATED, CoordinatedPaths
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.registry import surely_the_same
from pyspark_zkgroup.protocols.coordinator.rules.command_json import decode_command
from pyspark_zkgroup.protocols.coordinator.rules.commands import Assigned, Command, Start
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.zk.port import Children
from pyspark_zkgroup.zk.store import Store
from tests.contract.ensembles import made

PATHS = CoordinatedPaths("g")
MEMBER = encode_registration(Registration(Subscription.static({"t": 1}), "5", strategy="sticky"))


@pytest.fixture(params=["real", "fake"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    ensemble = made(request, request.param)
    found = ensemble.store(ensemble.open(5000))
    found.ensure([COORDINATED, PATHS.ids, PATHS.channel("c"), PATHS.channel("gone")])
    found.commit([(Create(PATHS.id("c"), MEMBER, ephemeral=True),)])
    yield found
    ensemble.close()


class Brokers:
    """What Kafka answers about its topics, if it answers."""

    def __init__(self) -> None:
        self.topics: Mapping[str, tuple[int, ...]] | None = None

    def poll(self) -> Mapping[str, tuple[int, ...]]:
        if self.topics is None:
            raise ServerError("no broker answers", "Start one")
        return self.topics


def told(store: Store) -> list[Command]:
    (listed,) = store.children([PATHS.channel("c")])
    assert listed is not None
    nodes = store.nodes([PATHS.command("c", name) for name in sorted(listed.names)])
    return [decode_command("channel", node.data) for node in nodes if node is not None]


def test_no_command_is_sent_before_the_topics_are_known(store: Store) -> None:
    brokers = Brokers()
    term = Term(store, 7, 0, brokers.poll, 0.0, SYSTEM, LightDesk())
    for _ in range(10):
        term.work()
    assert told(store) == []
    brokers.topics = {"t": (0,)}
    term.topics.poll_s = 60.0
    while term.work():
        pass
    (start,) = told(store)
    assert isinstance(start, Start)
    assert start.share == {TopicPartition("t", 0): Assigned(0)}
    assert start.generation.epoch == 7
    (channels,) = store.children([PATHS.channels])
    assert channels is not None
    assert channels.names == {"c"}


def test_topics_of_brokers_that_register_need_no_broker_to_be_asked(store: Store) -> None:
    store.ensure([f"{BROKER_IDS}/1", f"{BROKER_TOPICS}/t"])
    store.commit([(Create(f"{BROKER_TOPICS}/u", b'{"partitions":{"0":[1]}}'),)])
    term = Term(store, 7, 3, None, 60.0, SYSTEM, LightDesk())
    while term.work():
        pass
    (start,) = told(store)
    assert isinstance(start, Start)
    # t is just being created: its node has no partitions yet.
    assert (start.share, start.topics, start.generation.number) == ({}, {"t": ()}, 4)
    assert term.state.topics == {"t": (), "u": (0,)}


def test_without_topics_there_is_no_coordinator(store: Store) -> None:
    with pytest.raises(ServerError, match="no broker is configured"):
        Term(store, 7, 0, None, 60.0, SYSTEM, LightDesk()).work()


class Registrations:
    """Which registrations a term reads, look by look."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = store
        self.read: list[str] = []
        plain = store.nodes

        def nodes(paths: Sequence[str], *, watch: bool = False) -> Any:
            below = f"{PATHS.ids}/"
            self.read += [path.removeprefix(below) for path in paths if path.startswith(below)]
            return plain(paths, watch=watch)

        monkeypatch.setattr(store, "nodes", nodes)
        self.term = Term(store, 7, 0, lambda: {"t": (0, 1)}, 60.0, SYSTEM, LightDesk())

    def at_a_look(self) -> list[str]:
        self.read = []
        self.term.note(PATHS.ids)
        while self.term.work():
            pass
        return self.read

    def lives(self) -> dict[str, int]:
        return {c: m.life for c, m in self.term.state.groups["g"].members.items()}

    def made(self) -> dict[str, int]:
        (listed,) = self.store.children([PATHS.ids])
        names = sorted(listed.names) if listed else []
        nodes = self.store.stats([PATHS.id(name) for name in names])
        return {c: n.node.czxid for c, n in zip(names, nodes, strict=True) if n is not None}


@pytest.fixture
def registrations(store: Store, monkeypatch: pytest.MonkeyPatch) -> Registrations:
    store.ensure([BROKER_IDS])
    return Registrations(store, monkeypatch)


def test_a_join_costs_the_coordinator_the_one_registration(registrations: Registrations) -> None:
    store = registrations.store
    assert registrations.at_a_look() == ["c"]
    store.ensure([PATHS.channel("d")])
    store.commit([(Create(PATHS.id("d"), MEMBER, ephemeral=True),)])
    assert registrations.at_a_look() == ["d"]
    store.commit([(Delete(PATHS.id("d"), -1),)])
    assert registrations.at_a_look() == []
    assert registrations.lives() == registrations.made()
    assert registrations.lives().keys() == {"c"}


@pytest.mark.parametrize("another_joins", [False, True])
def test_who_came_back_under_its_name_between_two_looks_has_another_life(
    registrations: Registrations, another_joins: bool
) -> None:
    store = registrations.store
    registrations.at_a_look()
    before = registrations.lives()
    store.commit([(Delete(PATHS.id("c"), -1), Create(PATHS.id("c"), MEMBER, ephemeral=True))])
    if another_joins:
        store.commit([(Create(PATHS.id("d"), MEMBER, ephemeral=True),)])
    registrations.at_a_look()
    assert registrations.lives() == registrations.made()
    assert registrations.lives()["c"] != before["c"]


def test_a_registration_that_cannot_be_read_is_looked_at_again(
    registrations: Registrations,
) -> None:
    store = registrations.store
    store.commit([(Create(PATHS.id("d"), b"junk", ephemeral=True),)])
    registrations.at_a_look()
    assert registrations.lives().keys() == {"c"}
    store.commit([(SetData(PATHS.id("d"), MEMBER, 0),)])
    assert registrations.at_a_look() == ["d"]
    assert registrations.lives().keys() == {"c", "d"}


def test_a_registry_that_was_lost_and_recreated_is_read_again() -> None:
    before = Children(frozenset("abc"), 3, 10)
    assert surely_the_same(before, Children(frozenset("abd"), 5, 10)) == {"a", "b"}
    assert surely_the_same(before, Children(frozenset("abd"), 7, 10)) == frozenset()
    assert surely_the_same(before, Children(frozenset("abc"), 3, 11)) == frozenset()
