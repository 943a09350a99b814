"""What a coordinator reads of a group: its members, and which of them have no session."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pyspark_zkgroup.group.ops import Create, SetData
from pyspark_zkgroup.group.paths import COORDINATED, CoordinatedPaths
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.registry import Registry
from pyspark_zkgroup.protocols.coordinator.rules.command_json import encode
from pyspark_zkgroup.protocols.coordinator.rules.commands import Assigned, Ping, Start, Started
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from tests.fakes.standing import FakeEnsemble
from tests.fakes.store import FakeStore

PATHS = CoordinatedPaths("g")
PLAIN = Registration(Subscription.static({"t": 1}), "5", strategy="sticky")
LIGHT = replace(PLAIN, light=LightSeat("sha256:x", 3000))
P = [TopicPartition("t", n) for n in range(4)]


@pytest.fixture
def store() -> FakeStore:
    ensemble = FakeEnsemble()
    found = ensemble.store(ensemble.open(5000, ""))
    found.ensure([PATHS.ids, PATHS.channels, PATHS.answers, PATHS.owner_topic("t")])
    return found


def register(store: FakeStore, name: str, registration: Registration, ephemeral: bool) -> int:
    data = encode_registration(registration)
    store.commit([(Create(PATHS.id(name), data, ephemeral=ephemeral),)])
    (node,) = store.nodes([PATHS.id(name)])
    assert node is not None
    return node.node.czxid


def own(store: FakeStore, partition: TopicPartition, consumer: str, *, version: int = 1) -> None:
    path, data = PATHS.owner(partition), f"{consumer}-0".encode()
    store.commit([(Create(path, data), *(SetData(path, data, n) for n in range(version)))])


def test_light_members_are_those_without_a_session_that_say_so(store: FakeStore) -> None:
    registry = Registry(store)
    register(store, "plain", PLAIN, ephemeral=True)
    register(store, "by_hand", PLAIN, ephemeral=False)
    register(store, "with_session", LIGHT, ephemeral=True)
    life = register(store, "light", LIGHT, ephemeral=False)
    read = registry.read("g", first=True)
    assert set(read.members) == {"plain", "by_hand", "with_session", "light"}
    assert registry.light == {"light": (life, 3.0)}


def test_owner_nodes_without_their_member_have_a_timeout(store: FakeStore) -> None:
    """A light member that registered again has its own timeout for what its former life left."""
    registry = Registry(store)
    own(store, P[0], "gone")
    own(store, P[1], "again")
    register(store, "again", LIGHT, ephemeral=False)
    register(store, "reading", LIGHT, ephemeral=False)
    own(store, P[2], "reading")
    own(store, P[3], "jvm", version=0)
    read = registry.read("g", first=True)
    assert registry.left == {"gone": (0, 10.0), "again": (0, 3.0)}
    assert {p: thread.consumer for p, thread in read.owned.items()} == dict(
        zip(P, ("gone", "again", "reading", "jvm"), strict=True)
    )


def test_starts_that_are_not_obeyed_yet_count_as_owned(store: FakeStore) -> None:
    registry = Registry(store)
    life = register(store, "a", PLAIN, ephemeral=True)
    generation = Generation(1, 1)
    store.ensure([PATHS.channel("a")])
    for number, command in enumerate(
        (
            b"rubbish",
            encode(Ping(generation, life)),
            encode(Start(generation, life - 1, {P[1]: Assigned(0)})),
            encode(Start(generation, life, {P[0]: Assigned(2)})),
        )
    ):
        store.commit([(Create(PATHS.command("a", f"{number:010}"), command),)])
    assert registry.read("g", first=False).owned == {}
    assert registry.read("g", first=True).owned == {P[0]: ThreadId("a", 2)}


def test_channels_of_members_that_are_gone_are_deleted(store: FakeStore) -> None:
    register(store, "a", PLAIN, ephemeral=True)
    store.ensure([PATHS.channel("a"), PATHS.channel("gone")])
    store.commit([(Create(PATHS.command("gone", "0000000001"), b"go"),)])
    Registry(store).read("g", first=False)
    (channels,) = store.children([PATHS.channels])
    assert channels is not None
    assert channels.names == {"a"}


def test_answers_are_read_and_deleted(store: FakeStore) -> None:
    answer = Started(Generation(1, 1), 7)
    registry = Registry(store)
    store.commit(
        [
            (Create(PATHS.answer("g_a-b", "0000000001"), encode(answer)),),
            (Create(PATHS.answer("g_c", "0000000002"), b"rubbish"),),
        ]
    )
    found = registry.answers("g")
    assert [(a.consumer, a.answer) for a in found] == [("g_a-b", answer), ("g_c", None)]
    registry.take_away(found)
    assert registry.answers("g") == []


def test_groups_are_those_with_a_legal_name(store: FakeStore) -> None:
    store.ensure([f"{COORDINATED}/groups", f"{COORDINATED}/h"])
    assert Registry(store).groups() == {"g", "h"}
