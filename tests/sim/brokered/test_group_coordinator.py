"""The fake coordinator answers as a broker does: the rules that members build on, one by one."""

from __future__ import annotations

from typing import Any

from pyspark_zkgroup.group.kafka_group import codes
from pyspark_zkgroup.kafka import member_wire
from pyspark_zkgroup.kafka.member_wire import JoinAnswer, Membership, Write
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.kafka import FakeKafka
from tests.sim.world import World

P0 = TopicPartition("t", 0)
SESSION_S, REBALANCE_S = 6.0, 20.0


class Told:
    """One client, and what it was answered last."""

    def __init__(
        self, coordinator: FakeGroupCoordinator, client: int, instance: str | None
    ) -> None:
        self.coordinator = coordinator
        self.client = client
        self.who = Membership("g", instance=instance)
        self.answers: list[Any] = []

    def ask(self, request: Any) -> None:
        self.answers.clear()
        self.coordinator.ask(self.client, self.coordinator.node, request, self.answers.append)

    def join(self, subscription: bytes = b"s") -> JoinAnswer | None:
        """None as long as it waits for others."""
        request = member_wire.join_request(
            self.who,
            protocol="range",
            subscription=subscription,
            session_timeout_ms=int(SESSION_S * 1000),
            rebalance_timeout_ms=int(REBALANCE_S * 1000),
            reason="",
        )
        self.ask(request)
        return self.joined()

    def joined(self) -> JoinAnswer | None:
        if not self.answers:
            return None
        answer = member_wire.join_answer(self.answers[-1])
        if answer.code in (codes.NONE, codes.MEMBER_ID_REQUIRED):
            self.who = Membership("g", answer.member, answer.generation, self.who.instance)
        return answer

    def sync(self, **shares: bytes) -> int:
        assignments = shares or {self.who.member: b"all"}
        self.ask(member_wire.sync_request(self.who, protocol="range", assignments=assignments))
        return member_wire.sync_answer(self.answers[-1]).code

    def heartbeat(self) -> int:
        self.ask(member_wire.heartbeat_request(self.who))
        return member_wire.heartbeat_answer(self.answers[-1])

    def commit(self, offset: int) -> int:
        self.ask(member_wire.commit_request(self.who, {P0: Write(offset, "zkgroup a.1")}))
        return member_wire.commit_answer(self.answers[-1])[P0]


class Broker:
    def __init__(self) -> None:
        self.world = World(1)
        kafka = FakeKafka()
        kafka.make_topic("t", 2)
        self.coordinator = FakeGroupCoordinator(self.world, kafka, first_join_s=0.0)
        self.clients = 0

    def client(self, instance: str | None = None) -> Told:
        self.clients += 1
        return Told(self.coordinator, self.clients, instance)

    def wait(self, seconds: float) -> None:
        self.world.pause(seconds)

    def stable(self, instance: str | None = None) -> Told:
        one = self.client(instance)
        one.join()
        if instance is None:
            one.join()
        self.wait(0.001)
        one.joined()
        assert one.sync() == codes.NONE
        return one


def test_a_new_member_is_given_its_id_first() -> None:
    broker = Broker()
    one = broker.client()
    first = one.join()
    assert first is not None
    assert (first.code, bool(first.member)) == (codes.MEMBER_ID_REQUIRED, True)
    one.join()
    broker.wait(0.001)
    joined = one.joined()
    assert joined is not None
    assert (joined.code, joined.generation, joined.leads) == (codes.NONE, 1, True)
    assert [m.id for m in joined.members] == [one.who.member]


def test_a_join_waits_for_the_others_who_hear_of_it_by_heartbeats() -> None:
    broker = Broker()
    one, two = broker.stable(), broker.client()
    two.join()
    assert two.join() is None
    assert one.heartbeat() == codes.REBALANCE_IN_PROGRESS
    assert one.commit(5) == codes.NONE
    again = one.join(b"another")
    assert again is not None
    assert (again.generation, again.leads, len(again.members)) == (2, True, 2)
    assert two.joined() is not None
    # Told, and not yet assigned.
    assert two.commit(7) == codes.REBALANCE_IN_PROGRESS
    assert broker.coordinator.offsets[P0].offset == 5


def test_who_does_not_join_in_time_is_nobody() -> None:
    broker = Broker()
    one, two = broker.stable(), broker.client()
    two.join()
    assert two.join() is None
    for _ in range(5):
        broker.wait(REBALANCE_S / 5)
        one.heartbeat()
    assert two.joined() is not None
    assert one.heartbeat() == codes.UNKNOWN_MEMBER_ID
    assert one.commit(5) == codes.UNKNOWN_MEMBER_ID


def test_a_session_ends_in_silence() -> None:
    broker = Broker()
    one = broker.stable()
    broker.wait(SESSION_S * 0.9)
    assert one.heartbeat() == codes.NONE
    broker.wait(SESSION_S * 0.9)
    assert one.heartbeat() == codes.NONE
    broker.wait(SESSION_S * 1.1)
    assert one.heartbeat() == codes.UNKNOWN_MEMBER_ID
    assert broker.coordinator.group.state == "empty"


def test_a_static_member_is_given_its_predecessors_share_and_fences_it() -> None:
    broker = Broker()
    old, new = broker.stable("i"), broker.client("i")
    joined = new.join()
    assert joined is not None
    assert (joined.code, joined.generation, joined.skip) == (codes.NONE, 1, True)
    assert new.sync() == codes.NONE
    assert member_wire.sync_answer(new.answers[-1]).assignment == b"all"
    assert old.heartbeat() == codes.FENCED_INSTANCE_ID
    assert old.commit(3) == codes.FENCED_INSTANCE_ID
    assert new.commit(3) == codes.NONE


def test_a_coordinator_that_moves_knows_what_is_written() -> None:
    broker = Broker()
    one, two = broker.stable(), broker.client()
    two.join()
    two.join()
    one.join(b"another")
    two.joined()
    broker.coordinator.move(away_s=0.0, loading_s=0.5)
    assert one.heartbeat() == codes.COORDINATOR_LOAD_IN_PROGRESS
    broker.wait(0.6)
    assert one.sync() == codes.ILLEGAL_GENERATION
    assert two.sync() == codes.UNKNOWN_MEMBER_ID
    one.who = Membership("g", one.who.member, 1)
    assert one.heartbeat() == codes.NONE
