"""An operator asks a member of a brokers' group to leave it, to come back, and to end its query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pyspark_zkgroup.errors import StoppedError
from pyspark_zkgroup.group.noted_requests import (
    NotedRequest,
    encode_note,
    placed,
    places,
    requests_group,
    withdrawn,
)
from pyspark_zkgroup.group.requests import Kind
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka import group_wire
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.planning import planner
from tests.contract.memberships import KINDS, Members, settle
from tests.harness.group import twice
from tests.harness.waiting import wait_until

EACH = 5


class Asked:
    """A member of two partitions, and the notes through which an operator asks it."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.topic = members.made.topic(2)
        members.made.produce(self.topic, EACH)
        self.notes: Any = {}

    def settled(self, **given: Any) -> Any:
        query: Any = self.members.query(self.topic, **given)
        settle(query, partitions=2)
        return query

    def ask(self, query: Any, kind: Kind, member: str | None = None, at_ms: int = 1) -> None:
        member = member or query.kafka.kept.member.id
        among = places([self.topic], {self.topic: (0, 1)})
        self.write(query, placed(self.notes, NotedRequest(kind, member, "ops", at_ms), among, ()))

    def withdraw(self, query: Any, member: str) -> None:
        self.write(query, withdrawn(self.notes, member))

    def write(self, query: Any, notes: Any) -> None:
        self.notes = {**self.notes, **notes}
        for partition, requests in notes.items():
            self.commit(query, partition, encode_note(requests))

    def commit(self, query: Any, partition: TopicPartition, note: str) -> None:
        coordinator = query.connect()
        noted = coordinator.of(requests_group(self.members.made.name))
        request = group_wire.commit_request(noted.group, {partition: 0}, note)
        answer = noted.ask(request, timeout_s=10.0)
        coordinator.close()
        assert answer is not None
        assert set(group_wire.commit_answer(answer).values()) == {None}

    def is_outside(self, query: Any) -> bool:
        query.trigger()
        notes = query.membership.status()["notes"]
        return not query.held and any(note.startswith("outside of the group") for note in notes)

    def end(self, query: Any) -> str:
        """Return the error with which the query ends."""

        def ended() -> str:
            try:
                query.trigger()
            except StoppedError as error:
                return str(error)
            return ""

        return str(wait_until(ended, 20, "the query to end", clock=query.clock))


@pytest.fixture(params=["fakes", "servers"])
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    with KINDS[request.param].of("kafka", request) as members:
        yield Asked(members)


def read_all(asked: Asked, query: Any, count: int) -> None:
    settle(query, partitions=2)
    rows = [(asked.topic, p, n) for p in range(2) for n in range(count)]
    assert sorted(query.rows) == rows
    assert twice(query.rows) == []


@pytest.mark.parametrize("member_id", ["", "static"])
def test_a_member_that_is_asked_to_drain_leaves_stays_outside_and_comes_back(
    asked: Asked, member_id: str
) -> None:
    query = asked.settled(member_id=member_id)
    before = query.kafka.kept.member.id
    asked.ask(query, "drain")
    wait_until(lambda: asked.is_outside(query), 20, "the member to leave", clock=query.clock)
    assert asked.members.committed(asked.topic) == {0: EACH, 1: EACH}
    assert query.membership.status()["notes"] == ["outside of the group: drain, asked by ops"]
    other = asked.settled(checkpoint=None)
    asked.members.made.produce(asked.topic, EACH)
    read = list(query.rows)
    wait_until(lambda: asked.is_outside(query), 5, "it to stay outside", clock=query.clock)
    settle(other, partitions=2)
    assert query.rows == read
    assert sorted(other.rows) == [
        (asked.topic, p, n) for p in range(2) for n in range(EACH, 2 * EACH)
    ]
    other.stop()
    asked.withdraw(query, before)
    asked.members.made.produce(asked.topic, EACH)
    wait_until(lambda: not asked.is_outside(query), 30, "it to come back", clock=query.clock)
    settle(query, partitions=2)
    assert sorted(n for _, _, n in query.rows) == sorted(
        2 * [*range(EACH), *range(2 * EACH, 3 * EACH)]
    )
    assert twice(query.rows) == []


def test_a_query_that_is_asked_to_stop_leaves_first_and_names_who_asked(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "_DRIVER_STOPS_S", 0.5)
    query = asked.settled()
    asked.ask(query, "stop")
    assert "[ZKG-015] The query was stopped on request of ops" in asked.end(query)
    assert query.kafka.kept.member.phase == "unjoined"
    assert asked.members.committed(asked.topic) == {0: EACH, 1: EACH}


def test_a_drained_member_may_be_stopped(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "_DRIVER_STOPS_S", 0.5)
    query = asked.settled()
    member = query.kafka.kept.member.id
    asked.ask(query, "drain", member)
    wait_until(lambda: asked.is_outside(query), 20, "the member to leave", clock=query.clock)
    asked.ask(query, "stop", member, at_ms=2)
    assert "on request of ops" in asked.end(query)


def test_requests_to_others_and_garbage_are_not_heeded(asked: Asked) -> None:
    query = asked.settled()
    asked.ask(query, "stop", "another")
    asked.commit(query, TopicPartition(asked.topic, 1), "{")
    query.clock.sleep(4)
    asked.members.made.produce(asked.topic, EACH)
    read_all(asked, query, 2 * EACH)


def test_a_member_that_may_not_read_the_notes_reads_on(request: pytest.FixtureRequest) -> None:
    with KINDS["fakes"].of("kafka", request) as members:
        asked = Asked(members)
        query = asked.settled()
        coordinator = query.coordinator
        plain = coordinator.ask
        refused = []

        def ask(client: int, node: int, request: Any, reply: Any) -> None:
            if request.group_id == requests_group(members.made.name):
                refused.append(client)
                request.group_id = "refused"
                coordinator.refusals.groups.add(client)
                plain(client, node, request, reply)
                coordinator.refusals.groups.remove(client)
            else:
                plain(client, node, request, reply)

        coordinator.ask = ask
        query.clock.sleep(4)
        members.made.produce(asked.topic, EACH)
        read_all(asked, query, 2 * EACH)
        assert refused
        assert codes.GROUP_AUTHORIZATION_FAILED == 30


def test_a_member_that_is_lost_in_its_first_batch_finds_what_it_was_asked(
    request: pytest.FixtureRequest,
) -> None:
    with KINDS["fakes"].of("kafka", request) as members:
        asked = Asked(members)
        query: Any = members.query(asked.topic)
        query.trigger()
        assert query.held
        asked.ask(query, "drain")
        members.lose(query)
        assert query.kafka.kept.member.id == ""
        query.clock.sleep(4)
        wait_until(lambda: asked.is_outside(query), 5, "it to stay outside", clock=query.clock)


def test_a_member_leaves_whose_batch_read_a_topic_that_was_deleted(
    request: pytest.FixtureRequest,
) -> None:
    """Its commit is refused until the brokers have denied the topic for long enough."""
    with KINDS["fakes"].of("kafka", request) as members:
        asked, made = Asked(members), members.made
        deleted = made.topic(1)
        query: Any = members.query(f"{asked.topic},{deleted}")
        settle(query, partitions=3)
        made.produce(deleted, EACH)
        query.trigger()
        asked.ask(query, "drain")
        query.simulation.kafka.delete_topic(deleted)
        query.clock.sleep(4)
        wait_until(lambda: asked.is_outside(query), 60, "the member to leave", clock=query.clock)


def test_requests_are_found_soon_after_their_coordinator_has_moved(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    with KINDS["fakes"].of("kafka", request) as members:
        asked = Asked(members)
        query = asked.settled()
        query.clock.sleep(4)
        query.trigger()
        query.coordinator.move(away_s=0.0, loading_s=0.0)
        query.clock.sleep(4)
        query.trigger()
        asked.ask(query, "drain")
        wait_until(lambda: asked.is_outside(query), 20, "the member to leave", clock=query.clock)
        assert "do not reach this query" not in caplog.text
