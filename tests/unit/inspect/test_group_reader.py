"""Groups as they are read from their nodes."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.group.ops import Create, SetData
from pyspark_zkgroup.group.paths import (
    BROKER_IDS,
    BROKER_TOPICS,
    CONSUMERS,
    COORDINATOR,
    CoordinatedPaths,
    GroupPaths,
)
from pyspark_zkgroup.inspect.group_reader import (
    Traces,
    read_brokers,
    read_group,
    read_groups,
    read_topics,
    read_traces,
)
from pyspark_zkgroup.model import TopicPartition
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
