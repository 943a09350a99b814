"""Memberships as their contract suite asks for them: one group for each protocol, on real servers.

Another protocol needs a class here with the few things that only it knows, and a place in `MADE`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Protocol, cast

from pyspark_zkgroup.coordinator.beside_member import candidate_of
from pyspark_zkgroup.coordinator.light_desk import LightDesk
from pyspark_zkgroup.group.light.sessions import Life, Sessions
from pyspark_zkgroup.kafka import group_wire, member_wire
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.sandbox import Sandbox
from tests.group import Group, group_of
from tests.kafka.members import KafkaGroup, KafkaQuery, kafka_group_of
from tests.light import LightGroup
from tests.light import crash as light_crash
from tests.produced_topics import ProducedTopics
from tests.spark_order import Checkpoint, Query
from tests.waiting import wait_until

# What the protocols do not do alike, and why; docs/protocols.md has the rules.
DIFFERENCES = {
    "holds its share at its first boundary": {
        "coordinator": "a member reads what it is told to read, and is told after it has joined",
        "light": "as with coordinator",
        "kafka": "a join that takes longer is gone on with at a later boundary",
    },
    "an offset is set by hand beside live members": {
        "kafka": "the brokers take offsets of a group with members from its members alone",
    },
}


class Members(Protocol):
    """A group of one protocol. All that differs between them stands here; the suite has no ifs."""

    protocol: str

    @property
    def made(self) -> ProducedTopics: ...

    def query(self, topic: str, checkpoint: Checkpoint | None = None, **changes: str) -> Query: ...

    def crash(self, query: Query) -> None:
        """As a kill -9 does: nobody is told anything."""

    def lose(self, query: Query) -> None:
        """The server ends the query's membership; it finds out by its next request."""

    def committed(self, topic: str) -> dict[int, int]:
        """The group's offsets, where it has any."""

    def set_offset(self, topic: str, partition: int, value: int) -> bool:
        """As an operator does; False where the server refuses it."""


class NodeMembers:
    """What lies in ZooKeeper: `zookeeper`, and whatever keeps its owner nodes and offsets."""

    protocol = "zookeeper"

    def __init__(self, group: Group) -> None:
        self.made = group

    def query(self, topic: str, checkpoint: Checkpoint | None = None, **changes: str) -> Query:
        options = {"protocol": self.protocol, "session": "2000", "threads": "1", **changes}
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

    def __init__(self, group: LightGroup, desk: LightDesk) -> None:
        super().__init__(group)
        self.desk = desk

    def crash(self, query: Query) -> None:
        light_crash(query)

    def lose(self, query: Query) -> None:
        """As if nothing had been heard of it for its whole timeout."""
        desk, consumer = self.desk, query.membership.member

        def lives() -> list[Life]:
            return [life for life in desk.sessions.heard if life.consumer == consumer]

        (life,) = lives()
        with desk._lock:
            silent = replace(desk.sessions.heard[life], at=desk.clock.monotonic() - 3600.0)
            desk.sessions = Sessions({**desk.sessions.heard, life: silent})
        desk._wake()
        wait_until(lambda: life not in lives(), 10, "the coordinator to count it dead")


class KafkaMembers:
    protocol = "kafka"

    def __init__(self, group: KafkaGroup) -> None:
        self.made = group

    def query(self, topic: str, checkpoint: Checkpoint | None = None, **changes: str) -> Query:
        return self.made.query(topic, checkpoint, changes={"threads": "1", **changes})

    def crash(self, query: Query) -> None:
        query.crash()

    def lose(self, query: Query) -> None:
        kafka = cast(KafkaQuery, query)
        keeper = kafka.kafka.keeper
        life = keeper.member.life
        coordinator = kafka.connect()
        request = member_wire.leave_request(keeper.who(keeper.member), "expelled by a test")
        assert coordinator.ask(request, timeout_s=5.0) is not None
        coordinator.close()
        wait_until(lambda: keeper.member.life != life, 10, "a heartbeat to be refused")

    def committed(self, topic: str) -> dict[int, int]:
        query = self.made.queries[-1]
        partitions = [TopicPartition(topic, n) for n in query.brokers.partitions()[topic]]
        found = query.kafka.requests.read(partitions)
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
        yield LightMembers(group, office.desk)
    finally:
        group.close()


@contextmanager
def _kafka(sandbox: Sandbox) -> Iterator[Members]:
    with kafka_group_of(sandbox) as group:
        yield KafkaMembers(group)


MADE: dict[str, Callable[[Sandbox], AbstractContextManager[Members]]] = {
    "zookeeper": _zookeeper,
    "coordinator": _coordinated,
    "light": _light,
    "kafka": _kafka,
}


def settle(*queries: Query, partitions: int, deadline_s: float = 30.0) -> None:
    """Trigger in turn until all is held, evenly, and nothing is left to read, twice in a row."""
    calm_rounds = 0

    def calm() -> bool:
        nonlocal calm_rounds
        rows = sum(query.trigger() for query in queries)
        shares = [len(query.held) for query in queries]
        even = sum(shares) == partitions and max(shares) - min(shares) <= 1
        quiet = all(
            q.planner._standing.settled and not q.membership.stirred() and not q.planner._run
            for q in queries
        )
        calm_rounds = calm_rounds + 1 if rows == 0 and even and quiet else 0
        return calm_rounds >= 2

    wait_until(calm, deadline_s, "all members to settle", interval_s=0.0)
