"""A coordinator's term, on a real ZooKeeper and on the fake: what it reads, and whom it tells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.coordinator.term import Term
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.coordination.command_json import decode_command
from pyspark_zkgroup.group.coordination.commands import Assigned, Command, Start
from pyspark_zkgroup.group.ops import Create
from pyspark_zkgroup.group.paths import BROKER_IDS, BROKER_TOPICS, COORDINATED, CoordinatedPaths
from pyspark_zkgroup.group.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.model import TopicPartition
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
    """What Kafka says of its topics, when it says anything."""

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


def test_nobody_is_told_anything_before_the_topics_are_known(store: Store) -> None:
    brokers = Brokers()
    term = Term(store, 7, 0, brokers.poll, 0.0, SYSTEM)
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
    term = Term(store, 7, 3, None, 60.0, SYSTEM)
    while term.work():
        pass
    (start,) = told(store)
    assert isinstance(start, Start)
    # t is just being made: its node has no partitions yet.
    assert (start.share, start.topics, start.generation.number) == ({}, {"t": ()}, 4)
    assert term.state.topics == {"t": (), "u": (0,)}


def test_where_nobody_can_tell_the_topics_there_is_no_coordinator(store: Store) -> None:
    with pytest.raises(ServerError, match="no broker was named"):
        Term(store, 7, 0, None, 60.0, SYSTEM).work()
