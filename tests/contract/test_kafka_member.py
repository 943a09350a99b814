"""What a member of a broker-coordinated group does at its boundaries, on the fake coordinator."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pyspark_zkgroup.protocols.kafka.keeper import GroupKeeper
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from tests.contract.memberships import KINDS, Members, settle
from tests.harness.group import twice
from tests.harness.waiting import wait_until

EACH = 5


@pytest.fixture
def members(request: pytest.FixtureRequest) -> Iterator[Members]:
    with KINDS["fakes"].of("kafka", request) as made:
        yield made


def settled(members: Members) -> tuple[str, Any]:
    topic = members.made.topic(2)
    members.made.produce(topic, EACH)
    query: Any = members.query(topic)
    settle(query, partitions=2)
    return topic, query


def test_the_first_boundary_waits_for_the_join(members: Members) -> None:
    """So that a query that reads what is there and ends has its share at once."""
    topic = members.made.topic(2)
    query: Any = members.query(topic)
    query.trigger()
    assert len(query.held) == 2


def test_a_member_that_gives_up_leaves_the_group_and_comes_back(members: Members) -> None:
    made: Any = members.made
    topic, query = settled(members)
    assert query.membership.give_up() == 2
    assert query.membership.status()["state"] == "UNJOINED"
    wait_until(
        lambda: not made.coordinator.group.members, 2, "the group to be empty", clock=query.clock
    )
    made.produce(topic, EACH)
    settle(query, partitions=2)
    assert sorted(query.rows) == [(topic, p, n) for p in range(2) for n in range(2 * EACH)]
    assert twice(query.rows) == []


def test_a_boundary_says_whether_all_that_is_finished_is_committed(members: Members) -> None:
    """A stop drains: only what is committed may be called so."""
    _, query = settled(members)
    membership = query.membership
    departure = membership.departure
    assert departure.commit_last()
    membership.holdings.finish({p: at.done + 1 for p, at in membership.holdings.known.items()})
    assert membership.unsettled
    tries: list[float] = []

    def refused(_member: object) -> bool:
        tries.append(query.clock.monotonic())
        assert len(tries) < 100, "asked again and again without a pause"
        return False

    departure.claims.commit_finished = refused
    assert not departure.commit_last()
    assert len(tries) > 1


def test_a_first_position_is_marked_as_such(members: Members) -> None:
    """Made up while the group's offsets are lost, it is worth less than what a member remembers."""
    made: Any = members.made
    topic = made.topic(2)
    query: Any = members.query(topic)
    written: list[Any] = []

    def write(_member: object, writes: Any) -> Any:
        written.append(writes)
        return {}

    query.membership.lease.requests.write = write
    for _ in range(5):
        query.trigger()
    (first, *_) = [writes for writes in written if writes]
    assert all(write.metadata.startswith("zkgroup first ") for write in first.values())


def test_a_calm_member_reports_no_loss_of_its_membership(
    members: Members, caplog: pytest.LogCaptureFixture
) -> None:
    _, query = settled(members)
    query.clock.sleep(10.0)
    query.trigger()
    assert "ZKG-165" not in caplog.text


def test_what_waited_for_an_answer_does_not_wait_after_it(members: Members) -> None:
    topic = members.made.topic(2)
    members.made.produce(topic, EACH)
    query: Any = members.query(topic)
    requests = query.membership.lease.requests
    read, requests.read = requests.read, lambda _partitions: {}
    for _ in range(5):
        query.trigger()
    assert query.membership.status()["waitingCount"] == 2
    requests.read = read
    settle(query, partitions=2)
    assert query.membership.status()["waitingCount"] == 0


def test_who_leaves_closes_its_connection(members: Members) -> None:
    _, query = settled(members)
    coordinator = query.membership.lease.requests._coordinator
    closed, close = [], coordinator.close

    def noted() -> None:
        closed.append(True)
        close()

    coordinator.close = noted
    query.planner.stop()
    assert closed == [True]


def test_the_lease_is_three_quarters_of_the_session(members: Members) -> None:
    _, query = settled(members)
    kept = query.membership.kept
    assert kept.lease_ends - kept.heard_at == pytest.approx(4.5)  # session.timeout.ms=6000


def test_the_last_commit_of_a_membership_that_is_lost_is_not_tried(members: Members) -> None:
    _, query = settled(members)
    membership = query.membership
    tries: list[Any] = []
    membership.departure.claims.commit_finished = tries.append
    membership.kept.give_up("a test")
    began = query.clock.monotonic()
    assert membership.departure.commit_last()
    assert (tries, query.clock.monotonic() - began < 1.0) == ([], True)


class Paused:
    """A condition that notes for how long it is waited on."""

    def __init__(self) -> None:
        self.waits: list[float | None] = []

    def __enter__(self) -> Paused:
        return self

    def __exit__(self, *_: object) -> None: ...

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return True

    def notify_all(self) -> None: ...


@pytest.mark.parametrize(
    ("step", "forgotten", "waits"),
    [("look up", 1, [0.2]), ("back off", 0, [0.2]), ("rest", 0, []), ("sync", 0, [])],
)
def test_a_coordinator_that_cannot_answer_now_is_not_asked_without_a_pause(
    step: Any, forgotten: int, waits: list[float]
) -> None:
    changed, forgets = Paused(), []
    environment = cast(
        Any,
        SimpleNamespace(clock=None, threads=None, new_condition=lambda: changed),
    )
    kept = KeptMember("g", None, 6.0, environment)
    keeper = GroupKeeper(kept, cast(Any, None), 0, cast(Any, None), environment.threads)
    coordinator = cast(Any, SimpleNamespace(forget=lambda: forgets.append(True)))
    keeper._rest(coordinator, step)
    assert (len(forgets), changed.waits) == (forgotten, waits)
    keeper.close(leave=False)
    keeper._rest(coordinator, step)
    assert changed.waits == waits


def test_a_member_that_steps_out_keeps_nothing_that_the_group_knows(members: Members) -> None:
    """Others commit there meanwhile: what it knew is old when it comes back."""
    _, query = settled(members)
    holdings = query.membership.holdings
    query.membership.departure.step_out()
    assert (dict(holdings.known), set(holdings.held), holdings.dropped) == ({}, set(), 0)


def test_a_member_with_nothing_to_tell_has_no_notes(members: Members) -> None:
    _, query = settled(members)
    assert query.planner.boundary.standing.notes == ()


def test_a_member_that_has_its_share_does_not_begin_to_join(members: Members) -> None:
    topic, query = settled(members)
    kept = query.membership.kept
    seen = kept.member
    assert not kept.begin_join(seen, frozenset(), [topic])
    kept.give_up("a test")
    assert not kept.begin_join(seen, frozenset(), [topic])
    assert kept.begin_join(kept.member, frozenset(), [topic])


def test_a_commit_that_is_refused_for_now_is_not_sent_at_each_idle_trigger(
    members: Members,
) -> None:
    topic, query = settled(members)
    membership = query.membership
    claims = membership.departure.claims
    members.made.produce(topic, EACH)
    query.trigger()
    refused: list[float] = []

    def refuse(_member: object) -> bool:
        refused.append(query.clock.monotonic())
        return False

    commit_finished, claims.commit_finished = claims.commit_finished, refuse
    query.trigger()
    assert (len(refused), membership.unsettled, membership.stirred()) == (1, True, False)
    query.clock.sleep(0.6)
    assert membership.stirred()
    claims.commit_finished = commit_finished
    query.trigger()
    assert not membership.unsettled
