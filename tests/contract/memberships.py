"""Memberships for their contract suite: one group for each protocol, on real servers and on the
simulation's fakes.

Another protocol needs a class here with the few things that only it knows, and a place in
`ON_SERVERS` and `ON_FAKES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol

import pytest

from pyspark_zkgroup.kafka import group_wire, member_wire
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.rules.sessions import Sessions
from pyspark_zkgroup.spark.candidate import candidate_of
from tests.contract.simulated_groups import (
    SESSION_MS,
    SimulatedBrokersGroup,
    SimulatedGroup,
    SimulatedLightGroup,
    SimulatedToldGroup,
    SimulatedTopics,
)
from tests.contract.simulated_queries import Simulation
from tests.harness.group import Group, group_of
from tests.harness.light import LightGroup
from tests.harness.light import crash as light_crash
from tests.harness.produced_topics import ProducedTopics
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.waiting import wait_until
from tests.kafka.members import KafkaGroup, kafka_group_of
from zkgroup_sandbox import Sandbox

# How the protocols differ, and why; docs/protocols.md has the rules.
DIFFERENCES = {
    "holds its share at its first boundary": {
        "coordinator": "a member reads what its commands assign, and they come after it has joined",
        "light": "as with coordinator",
        "kafka": "a join that takes longer continues at a later boundary",
    },
    "an offset is set by hand while members live": {
        "kafka": "the brokers take offsets of a group with members from its members alone",
    },
}


class Members(Protocol):
    """A group of one protocol. All differences between them are here; the suite has no ifs."""

    protocol: str

    @property
    def made(self) -> ProducedTopics | SimulatedTopics: ...

    def query(
        self,
        topic: str,
        checkpoint: Checkpoint | None = None,
        *,
        starting: str = "earliest",
        member_id: str = "",
        session_ms: int | None = None,
        threads: int = 1,
    ) -> Query: ...

    def crash(self, query: Query) -> None:
        """Stop without notice to any server, like a kill -9."""

    def lose(self, query: Query) -> None:
        """End the query's membership at the server; the query finds out by its next request."""

    def committed(self, topic: str) -> dict[int, int]:
        """Return the group's offsets, where it has any."""

    def set_offset(self, topic: str, partition: int, value: int) -> bool:
        """Set an offset as an operator does; return False if the server refuses it."""


class NodeMembers:
    """Nodes in ZooKeeper: `zookeeper`, and every protocol with its owner nodes and offsets."""

    protocol = "zookeeper"

    def __init__(self, group: Group | SimulatedGroup) -> None:
        self.made = group

    def query(
        self,
        topic: str,
        checkpoint: Checkpoint | None = None,
        *,
        starting: str = "earliest",
        member_id: str = "",
        session_ms: int | None = None,
        threads: int = 1,
    ) -> Query:
        options = {
            "protocol": self.protocol,
            "threads": str(threads),
            "starting": starting,
            "session": str(session_ms or SESSION_MS),
            **({"member_id": member_id} if member_id else {}),
        }
        return self.made.query_of(self.made.options(topic, **options), checkpoint)

    def crash(self, query: Query) -> None:
        query.crash()

    def lose(self, query: Query) -> None:
        self.made.expire(query)

    def committed(self, topic: str) -> dict[int, int]:
        return {number: int(value) for number, value in self.made.offsets(topic).items()}

    def set_offset(self, topic: str, partition: int, value: int) -> bool:
        self.made.client.set(self.made.offset_path(topic, partition), b"%d" % value)
        return True


class CoordinatedMembers(NodeMembers):
    protocol = "coordinator"


class LightMembers(NodeMembers):
    protocol = "light"

    def __init__(
        self,
        group: LightGroup | SimulatedGroup,
        desk: LightDesk,
        crash: Callable[[Query], None],
    ) -> None:
        super().__init__(group)
        self.desk = desk
        self._crash = crash

    def crash(self, query: Query) -> None:
        self._crash(query)

    def lose(self, query: Query) -> None:
        """Act as if the coordinator had not heard from it for its whole timeout. Repeat at each
        look: a message may arrive before the coordinator looks.
        """
        members, consumer = self.desk.members, query.membership.member
        office = self.desk._office
        assert office is not None
        (life,) = [life for life in members.sessions.heard if life.consumer == consumer]

        def is_dead() -> bool:
            with members._lock:
                heard = members.sessions.heard
                if life in heard:
                    silent = replace(heard[life], at=self.desk.clock.monotonic() - 3600.0)
                    members.sessions = Sessions({**heard, life: silent})
            office.wake()
            return life not in members.sessions.heard

        wait_until(is_dead, 10, "the coordinator to count it dead", clock=query.clock)


class KafkaMembers:
    protocol = "kafka"

    def __init__(self, group: KafkaGroup | SimulatedBrokersGroup) -> None:
        self.made = group

    def query(
        self,
        topic: str,
        checkpoint: Checkpoint | None = None,
        *,
        starting: str = "earliest",
        member_id: str = "",
        session_ms: int | None = None,
        threads: int = 1,
    ) -> Query:
        changes = {
            "threads": str(threads),
            "starting": starting,
            **({"session_timeout_ms": str(session_ms)} if session_ms else {}),
            **({"member_id": member_id} if member_id else {}),
        }
        return self.made.query(topic, checkpoint, changes=changes)

    def crash(self, query: Query) -> None:
        query.crash()

    def lose(self, query: Query) -> None:
        kafka = next(known for known in self.made.queries if known is query)
        kept = kafka.kafka.kept
        life = kept.member.life
        coordinator = kafka.connect()
        request = member_wire.leave_request(kept.who(kept.member), "expelled by a test")
        assert coordinator.ask(request, timeout_s=5.0) is not None
        coordinator.close()
        wait_until(
            lambda: kept.member.life != life, 10, "a heartbeat to be refused", clock=query.clock
        )

    def committed(self, topic: str) -> dict[int, int]:
        query = self.made.queries[-1]
        partitions = [TopicPartition(topic, n) for n in query.brokers.partitions()[topic]]
        found = query.kafka.lease.requests.read(partitions)
        return {p.partition: at.offset for p, at in found.items() if at.offset is not None}

    def set_offset(self, topic: str, partition: int, value: int) -> bool:
        coordinator = self.made.queries[-1].connect()
        offsets = {TopicPartition(topic, partition): value}
        answer = coordinator.ask(
            group_wire.commit_request(self.made.name, offsets, ""), timeout_s=5.0
        )
        coordinator.close()
        assert answer is not None
        return set(group_wire.commit_answer(answer).values()) == {None}


@contextmanager
def _zookeeper(sandbox: Sandbox) -> Iterator[Members]:
    with group_of(sandbox) as group:
        yield NodeMembers(group)


@contextmanager
def _coordinated(sandbox: Sandbox) -> Iterator[Members]:
    with group_of(sandbox) as group:
        members = CoordinatedMembers(group)
        options = group.options("any", protocol="coordinator", session="2000", refresh="300")
        candidate = candidate_of(parse(options), "alone")
        assert candidate is not None
        candidate.start()
        try:
            yield members
        finally:
            candidate.close()


@contextmanager
def _light(sandbox: Sandbox) -> Iterator[Members]:
    group = LightGroup(sandbox)
    try:
        office = group.office()
        group.in_office()
        yield LightMembers(group, office.desk, light_crash)
    finally:
        group.close()


@contextmanager
def _kafka(sandbox: Sandbox) -> Iterator[Members]:
    with kafka_group_of(sandbox) as group:
        yield KafkaMembers(group)


def _light_on_fakes(simulation: Simulation) -> Members:
    group = SimulatedLightGroup(simulation)
    return LightMembers(group, group.office.light_desk, lambda query: query.crash())


ON_SERVERS: dict[str, Callable[[Sandbox], AbstractContextManager[Members]]] = {
    "zookeeper": _zookeeper,
    "coordinator": _coordinated,
    "light": _light,
    "kafka": _kafka,
}
ON_FAKES: dict[str, Callable[[Simulation], Members]] = {
    "zookeeper": lambda simulation: NodeMembers(SimulatedGroup(simulation)),
    "coordinator": lambda simulation: CoordinatedMembers(SimulatedToldGroup(simulation)),
    "light": _light_on_fakes,
    "kafka": lambda simulation: KafkaMembers(SimulatedBrokersGroup(simulation)),
}


@contextmanager
def _on_fakes(protocol: str, _request: pytest.FixtureRequest) -> Iterator[Members]:
    simulation = Simulation()
    try:
        yield ON_FAKES[protocol](simulation)
    finally:
        simulation.end()


@contextmanager
def _on_servers(protocol: str, request: pytest.FixtureRequest) -> Iterator[Members]:
    # Only here: the fakes need no server, so none is started for them.
    with ON_SERVERS[protocol](request.getfixturevalue("sandbox")) as members:
        yield members


class Kind(NamedTuple):
    """`sessions_take` marks a test that waits until a session has ended."""

    of: Callable[[str, pytest.FixtureRequest], AbstractContextManager[Members]]
    sessions_take: tuple[pytest.MarkDecorator, ...] = ()


KINDS = {"fakes": Kind(_on_fakes), "servers": Kind(_on_servers, (pytest.mark.long,))}


def settle(*queries: Query, partitions: int, deadline_s: float = 30.0) -> None:
    """Trigger in turn until all is held, evenly, and nothing is left to read, twice in a row."""
    calm_rounds = 0

    def calm() -> bool:
        nonlocal calm_rounds
        rows = sum(query.trigger() for query in queries)
        shares = [len(query.held) for query in queries]
        even = sum(shares) == partitions and max(shares) - min(shares) <= 1
        quiet = all(
            q.planner.boundary.standing.settled
            and not q.membership.stirred()
            and not q.planner.boundary.batch.ranges
            for q in queries
        )
        calm_rounds = calm_rounds + 1 if rows == 0 and even and quiet else 0
        return calm_rounds >= 2

    clock = queries[0].clock
    wait_until(calm, deadline_s, "all members to settle", interval_s=0.0, clock=clock)
