"""The nodes of one member: what a command reads, asks and withdraws."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Create, Done
from pyspark_zkgroup.group.paths import CoordinatedPaths, GroupPaths
from pyspark_zkgroup.group.requests import Request
from pyspark_zkgroup.inspect.group_reader import read_group
from pyspark_zkgroup.inspect.member_nodes import (
    MemberState,
    ask,
    read_asked,
    read_belongings,
    read_standings,
    withdraw,
)
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.standing import FakeEnsemble
from tests.fakes.store import FakeStore

PATHS, COORDINATED = GroupPaths("g"), CoordinatedPaths("g")
REQUEST = Request("drain", "ann@host", 1_000, 0x10)
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
ZKGROUP = encode_registration(Registration(Subscription.static({"t": 1}), "1", "range", "new"))
JVM = encode_registration(Registration(Subscription.static({"t": 1}), "1", None, None))


@pytest.fixture
def store() -> FakeStore:
    ensemble = FakeEnsemble()
    found = ensemble.store(ensemble.open(5000, ""))
    found.ensure([PATHS.ids, COORDINATED.ids, PATHS.owner_topic("t"), PATHS.offset_topic("t")])
    return found


def test_a_request_is_made_read_and_withdrawn(store: FakeStore) -> None:
    (made,) = ask(store, "g", {"a": (REQUEST, -1)})
    assert isinstance(made, Done)
    assert read_asked(store, "g") == ("a",)
    assert read_standings(store, "g", ["a", "b"]) == {
        "a": MemberState(request=REQUEST, version=0),
        "b": MemberState(),
    }
    assert not withdraw(store, "g", "a", 7)
    assert withdraw(store, "g", "a", 0)
    assert read_asked(store, "g") == ()


def test_a_standing_has_the_session_of_the_registration(store: FakeStore) -> None:
    store.commit(
        [
            (Create(PATHS.id("alone"), ZKGROUP, ephemeral=True),),
            (Create(COORDINATED.id("told"), ZKGROUP, ephemeral=True),),
            (Create(COORDINATED.id("light"), ZKGROUP),),
        ]
    )
    seen = read_standings(store, "g", ["alone", "told", "light"])
    assert [(s.session, s.is_light) for s in seen.values()] == [
        (store.session.id, False),
        (store.session.id, False),
        (0, True),
    ]


@pytest.mark.parametrize(
    ("path", "data", "is_jvm"),
    [
        (PATHS.id("a"), ZKGROUP, False),
        (PATHS.id("a"), JVM, True),
        (PATHS.id("a"), b"rubbish", False),
        (COORDINATED.id("a"), ZKGROUP, False),
    ],
)
def test_the_belongings_of_a_member_are_its_nodes_alone(
    store: FakeStore, path: str, data: bytes, is_jvm: bool
) -> None:
    store.commit(
        [
            (Create(path, data, ephemeral=True),),
            (Create(PATHS.owner(P0), b"a-0"), Create(PATHS.offset(P0), b"5")),
            (Create(PATHS.owner(P1), b"b-0"), Create(PATHS.offset(P1), b"6")),
        ]
    )
    found = read_belongings(store, read_group(store, "g", {}), "a")
    (registered, owner, offset) = store.nodes([path, PATHS.owner(P0), PATHS.offset(P0)])
    assert registered is not None
    assert owner is not None
    assert offset is not None
    assert found.registration is not None
    assert (found.registration_path, found.registration.session) == (path, store.session.id)
    assert found.registration.node == registered.node
    assert found.jvm is is_jvm
    assert {p: seen.node for p, seen in found.owners.items()} == {P0: owner.node}
    assert found.offsets == {P0: offset.node}


def test_a_member_that_is_not_registered_may_still_own_partitions(store: FakeStore) -> None:
    store.commit([(Create(PATHS.owner(P0), b"a-0"), Create(PATHS.offset(P0), b"5"))])
    found = read_belongings(store, read_group(store, "g", {}), "a")
    assert (found.registration, found.jvm, set(found.owners)) == (None, False, {P0})
