"""An operator asks a member to leave its group, to come back, and to end its query."""

from __future__ import annotations

from typing import Any

import pytest

from pyspark_zkgroup.errors import StoppedError
from pyspark_zkgroup.group.requests import Kind, Request, decode_request, encode_request
from tests.contract.memberships import KINDS, Members, settle
from tests.harness.group import twice
from tests.harness.waiting import wait_until

EACH = 5


class Asked:
    """A member of two partitions, and the node through which an operator asks it."""

    def __init__(self, members: Members) -> None:
        self.members = members
        self.topic = members.made.topic(2)
        members.made.produce(self.topic, EACH)
        self.query: Any = members.query(self.topic)
        settle(self.query, partitions=2)
        context: Any = self.query.membership.keeper.context
        self.path, self.id = context.paths.request(context.consumer), context.paths.id
        self.session, self.consumer = context.session, context.consumer
        made: Any = members.made
        self.client = made.client

    def ask(self, kind: Kind, session: int) -> None:
        request = Request(kind, "an operator", 1, session)
        self.client.create(self.path, encode_request(request), makepath=True)

    def answer(self) -> str | None:
        replica = self.query.simulation.server.leader
        found = decode_request(replica.nodes[self.path].data)
        assert found is not None
        return found.answer

    def is_registered(self) -> bool:
        return bool(self.client.exists(self.id(self.consumer)))

    def is_outside(self) -> bool:
        self.query.trigger()
        return not self.query.held and not self.is_registered() and self.answer() is not None


def triggered(query: Any, times: int) -> None:
    for _ in range(times):
        query.trigger()


@pytest.fixture(params=["zookeeper", "coordinator"])
def asked(request: pytest.FixtureRequest) -> Any:
    with KINDS["fakes"].of(request.param, request) as members:
        yield Asked(members)


def test_a_member_that_is_asked_to_drain_leaves_stays_outside_and_comes_back(asked: Asked) -> None:
    asked.ask("drain", asked.session)
    query = asked.query
    wait_until(asked.is_outside, 20, "the member to leave", clock=query.clock)
    assert asked.members.committed(asked.topic) == {0: EACH, 1: EACH}
    notes = query.membership.status()["notes"]
    assert "outside of the group: drain, asked by an operator" in notes
    asked.members.made.produce(asked.topic, EACH)
    before = list(query.rows)
    triggered(query, 5)
    assert query.rows == before
    asked.client.delete(asked.path)
    settle(query, partitions=2)
    assert sorted(query.rows) == [(asked.topic, p, n) for p in range(2) for n in range(2 * EACH)]
    assert twice(query.rows) == []
    assert asked.is_registered()


def test_a_query_that_is_asked_to_stop_leaves_first_and_names_who_asked(asked: Asked) -> None:
    asked.ask("stop", asked.session)
    query = asked.query
    with pytest.raises(StoppedError, match="on request of an operator") as caught:
        triggered(query, 100)
    assert "ZKG-015" in str(caught.value)
    assert not asked.is_registered()
    assert asked.answer() == "left the group"
    assert asked.members.committed(asked.topic) == {0: EACH, 1: EACH}


def test_a_request_for_another_process_is_not_heeded(asked: Asked) -> None:
    asked.ask("stop", asked.session + 1)
    triggered(asked.query, 5)
    assert asked.is_registered()
    assert len(asked.query.held) == 2
    assert asked.answer() is None


@pytest.mark.parametrize(("member_id", "static"), [("one", True), ("", False)])
def test_a_registration_says_whether_its_member_is_static(
    request: pytest.FixtureRequest, member_id: str, static: bool
) -> None:
    """Operators see which members keep their share through a restart."""
    with KINDS["fakes"].of("zookeeper", request) as members:
        query: Any = members.query(members.made.topic(1), member_id=member_id)
        query.trigger()
        context: Any = query.membership.keeper.context
        node = query.simulation.server.leader.nodes[context.paths.id(context.consumer)]
        assert b'"static":"%s"' % str(static).lower().encode() in node.data
