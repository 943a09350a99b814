"""A group's coordinator for its contract suite: of real brokers, and the fake of the simulation."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import pytest

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka import group_wire, member_wire, metadata
from pyspark_zkgroup.kafka.connection import Call, Cluster
from pyspark_zkgroup.kafka.consumer_protocol import MemberSubscription, encode_subscription
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.member_wire import JoinAnswer, Membership, Write
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from tests.contract.fetching import settings_of
from tests.contract.simulated_queries import Simulation
from tests.fakes.group_cluster import FakeCluster
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.harness.waiting import REAL_TIME, wait_until
from zkgroup_sandbox import Sandbox

# A broker refuses a shorter one by default.
SESSION_S_MIN = 6.0
PATIENCE_S = 60.0
# Nothing that a test waits for may depend on the end of these.
_LONG_S = 5 * PATIENCE_S
_ANSWER_S = 30.0
_GLANCE_S = 0.3
_AWAY = {
    codes.COORDINATOR_LOAD_IN_PROGRESS,
    codes.COORDINATOR_NOT_AVAILABLE,
    codes.NOT_COORDINATOR,
}


@dataclass(frozen=True)
class Offer:
    """What a member offers in a join."""

    protocol: str = "range"
    subscription: bytes = encode_subscription(MemberSubscription(("any",)))
    session_s: float = _LONG_S
    rebalance_s: float = _LONG_S


OFFER = Offer()
ANOTHER = Offer(subscription=encode_subscription(MemberSubscription(("any", "other"))))


class Client:
    """A member with its own connection, since its requests wait behind a join."""

    def __init__(self, cluster: Cluster, clock: Clock, group: str, instance: str | None) -> None:
        self.cluster = cluster
        self.clock = clock
        self.who = Membership(group, instance=instance)
        self._node = -1
        self._call: Call | None = None

    def find(self) -> None:
        """Find the present coordinator of the group, as soon as it answers for it."""

        def answers() -> bool:
            found = self.cluster.ask(
                lambda: group_wire.coordinator_request(self.who.group), timeout_s=_ANSWER_S
            )
            node = group_wire.coordinator_answer(found)
            assert isinstance(node, int), node
            metadata.read(self.cluster, (), timeout_s=_ANSWER_S)
            self._node = node
            return self.heartbeat() not in _AWAY

        wait_until(answers, PATIENCE_S, "a coordinator", clock=self.clock)

    def send(self, request: Any) -> None:
        self._call = self.cluster.start(self._node, request, timeout_s=_LONG_S)

    def waits(self) -> bool:
        """Return whether its answer has not arrived for a moment."""
        assert self._call is not None
        return self.cluster.first([self._call], timeout_s=_GLANCE_S) is None

    def answer(self) -> Any:
        assert self._call is not None
        call = self._call
        wait_until(lambda: not self.waits(), _ANSWER_S, "an answer", clock=self.clock)
        assert not isinstance(call.answer, Lost), call.answer
        return call.answer

    def ask(self, request: Any) -> Any:
        self.send(request)
        return self.answer()

    # -- its requests

    def sends_join(self, offer: Offer = OFFER) -> None:
        self.send(
            member_wire.join_request(
                self.who,
                protocol=offer.protocol,
                subscription=offer.subscription,
                session_timeout_ms=int(offer.session_s * 1000),
                rebalance_timeout_ms=int(offer.rebalance_s * 1000),
                reason="",
            )
        )

    def joined(self) -> JoinAnswer:
        answer = member_wire.join_answer(self.answer())
        if answer.code in (codes.NONE, codes.MEMBER_ID_REQUIRED):
            self.who = replace(self.who, member=answer.member, generation=answer.generation)
        return answer

    def join(self, offer: Offer = OFFER) -> JoinAnswer:
        self.sends_join(offer)
        return self.joined()

    def is_named(self, offer: Offer = OFFER) -> None:
        """Get an id without joining."""
        assert self.join(offer).code == codes.MEMBER_ID_REQUIRED

    def enter(self, offer: Offer = OFFER) -> JoinAnswer:
        """Join. Static members need no id first."""
        answer = self.join(offer)
        return self.join(offer) if answer.code == codes.MEMBER_ID_REQUIRED else answer

    def sends_sync(self, shares: Mapping[str, bytes] | None = None) -> None:
        self.send(member_wire.sync_request(self.who, protocol="range", assignments=shares or {}))

    def synced(self) -> tuple[int, bytes]:
        answer = member_wire.sync_answer(self.answer())
        return answer.code, answer.assignment

    def sync(self, shares: Mapping[str, bytes] | None = None) -> tuple[int, bytes]:
        self.sends_sync(shares)
        return self.synced()

    def heartbeat(self) -> int:
        return member_wire.heartbeat_answer(self.ask(member_wire.heartbeat_request(self.who)))

    def leave(self) -> None:
        assert self.ask(member_wire.leave_request(self.who, "a test")) is not None

    def commit(self, partition: TopicPartition, offset: int) -> int:
        return self.commits({partition: offset})[partition]

    def commits(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        writes = {p: Write(offset, "zkgroup a.1") for p, offset in offsets.items()}
        request = member_wire.commit_request(self.who, writes)
        return member_wire.commit_answer(self.ask(request))

    def committed(self, partition: TopicPartition) -> int | None:
        request = group_wire.fetch_request(self.who.group, [partition])
        found = group_wire.fetch_answer(self.ask(request))
        assert isinstance(found, dict), found
        stored = found[partition]
        return stored.offset if isinstance(stored, StoredOffset) else None


class Coordinator(Protocol):
    """The coordinator of one group, and one topic of two partitions."""

    topic: str
    clock: Clock

    def client(self, instance: str | None = None) -> Client: ...

    def move(self) -> None:
        """Move the group to another coordinator, which knows what was written and nothing else."""

    def close(self) -> None: ...


class RealCoordinator:
    clock: Clock = REAL_TIME

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.group = f"c{uuid.uuid4().hex[:8]}"
        self.topic = f"{self.group}-t"
        self.clusters: list[Cluster] = []
        sandbox.create_topic(self.topic, 2)

    def client(self, instance: str | None = None) -> Client:
        self.clusters.append(Cluster(settings_of(self.sandbox)))
        made = Client(self.clusters[-1], self.clock, self.group, instance)
        made.find()
        return made

    def move(self) -> None:
        (broker,) = self.sandbox.brokers
        broker.kill()
        broker.start()

    def close(self) -> None:
        for cluster in self.clusters:
            cluster.close()


class FakedCoordinator:
    topic = "t"

    def __init__(self) -> None:
        self.simulation = Simulation()
        self.clock: Clock = self.simulation.clock
        kafka = self.simulation.kafka
        kafka.make_topic(self.topic, 2)
        self.fake = FakeGroupCoordinator(self.simulation.world, kafka, first_join_s=0.0)
        self.clients = 0

    def client(self, instance: str | None = None) -> Client:
        self.clients += 1
        process = self.simulation.process("c")
        cluster = FakeCluster(
            *(self.clients, self.fake, self.simulation.kafka, process.access),
            *(process, process.reaches, process.clock, process.rng),
        )
        made = Client(cast(Cluster, cluster), self.clock, "g", instance)
        made.find()
        return made

    def move(self) -> None:
        self.fake.move(away_s=0.2, loading_s=0.5)

    def close(self) -> None:
        self.simulation.end()


def _fake(_: pytest.FixtureRequest) -> Coordinator:
    return FakedCoordinator()


def _shared(sandbox: str) -> Callable[[pytest.FixtureRequest], Coordinator]:
    return lambda request: RealCoordinator(request.getfixturevalue(sandbox))


def _own(kafka: str) -> Callable[[pytest.FixtureRequest], Coordinator]:
    return lambda request: RealCoordinator(request.getfixturevalue("new_sandbox")(kafka=kafka))


KINDS = [
    pytest.param(_fake, id="fake"),
    pytest.param(_shared("sandbox"), id="3.9", marks=pytest.mark.long),
    pytest.param(_shared("sandbox_41"), id="4.1"),
]

# Kinds of servers that a test may damage.
OWN_KINDS = [
    pytest.param(_fake, id="fake"),
    pytest.param(_own("3.9"), id="3.9", marks=pytest.mark.long),
    pytest.param(_own("4.1"), id="4.1", marks=pytest.mark.long),
]
