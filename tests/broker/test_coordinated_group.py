"""Members that a coordinator tells what to read, and coordinators that die. Real servers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.inspect.group_reader import opened, read_group, read_groups, read_topics
from pyspark_zkgroup.inspect.report import report
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy, parse_candidacy
from pyspark_zkgroup.spark.candidate import candidate_of
from tests.harness.group import all_rows, known, missing, settle, twice
from tests.harness.spark_order import Checkpoint, Query, abandon
from tests.harness.told_group import ToldGroup, begin_a_batch, share
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

COORDINATOR = "/consumers/coordinator"


class CoordinatedGroup(ToldGroup):
    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox)
        self.candidates: list[Candidate] = []

    def options(self, topic: str = "", **changes: str) -> dict[str, str]:
        return super().options(topic, **{"protocol": "coordinator", **changes})

    def candidate(self, name: str = "one") -> Candidate:
        options = self.options("any", session="2000", refresh="300")
        candidate = candidate_of(parse(options), name)
        assert candidate is not None
        candidate.start()
        self.candidates.append(candidate)
        return candidate

    def coordinator(self) -> Candidate:
        """Return the candidate in office."""
        found = wait_until(lambda: [c for c in self.candidates if c.in_office], 15, "an election")
        return found[0]

    def kill(self, candidate: Candidate) -> None:
        """As a kill -9 does: its session stays behind."""
        self.candidates.remove(candidate)
        assert candidate.store is not None
        session: Any = candidate.store.session
        abandon(session.client)
        candidate._closing = True

    def close(self) -> None:
        for candidate in self.candidates:
            candidate.close()
        super().close()


@contextmanager
def served(sandbox: Sandbox) -> Iterator[CoordinatedGroup]:
    made = CoordinatedGroup(sandbox)
    try:
        made.candidate()
        yield made
    finally:
        made.close()


@pytest.fixture
def group(sandbox: Sandbox) -> Iterator[CoordinatedGroup]:
    with served(sandbox) as made:
        yield made


@pytest.fixture
def kraft_group(sandbox_41: Sandbox) -> Iterator[CoordinatedGroup]:
    with served(sandbox_41) as made:
        yield made


def test_a_lone_member_is_assigned_everything_and_commits_what_is_done(
    group: CoordinatedGroup,
) -> None:
    topic = group.topic(5)
    group.produce(topic, 20)
    query = group.query(topic)
    query.until(100)
    assert missing(group, query.rows) == [] == twice(query.rows)
    query.trigger()
    assert group.offsets(topic) == dict.fromkeys(range(5), b"20")
    assert set(group.owners(topic).values()) == {f"{query.membership.member}-{n}" for n in (0, 1)}
    with opened(group.options()["zookeeper.connect"]) as store:
        seen = report(read_group(store, group.name, read_topics(store)), {})
        assert group.name in read_groups(store)
        assert not {"groups", "coordinator"} & set(read_groups(store))
    assert [member.consumer for member in seen.members] == [query.membership.member]
    assert {row.state for row in seen.partitions} == {"owned"}
    data, _ = group.client.get(COORDINATOR)
    assert parse_candidacy(COORDINATOR, data) == Candidacy("one")


def test_a_newcomer_takes_its_share_and_what_stays_is_never_released(
    group: CoordinatedGroup,
) -> None:
    topic = group.topic(12)
    group.produce(topic, 10)
    a = group.query(topic)
    a.until(120)
    before = group.owner_lives(topic)
    b = group.query(topic)
    share([a, b], 12)
    after = group.owner_lives(topic)
    assert {p.partition for p in a.held} == {p for p in after if after[p] == before[p]}
    c = group.query(topic)
    share([a, b, c], 12)
    group.produce(topic, 10)
    settle(a, b, c)
    assert missing(group, all_rows(a, b, c)) == [] == twice(all_rows(a, b, c))
    wait_until(lambda: not group.below("answers"), 5, "the answers to be taken away")
    assert [group.below(f"channel/{q.membership.member}") for q in (a, b, c)] == [[], [], []]


def test_a_clean_stop_frees_at_once_and_a_crash_after_the_session(group: CoordinatedGroup) -> None:
    topic = group.topic(12)
    group.produce(topic, 10)
    a, b, c = (group.query(topic, session="2000") for _ in range(3))
    share([a, b, c], 12)
    a.stop()
    share([b, c], 12)
    wait_until(lambda: len(group.below("channel")) == 2, 5, "a's channel to be cleaned")
    c.crash()
    group.produce(topic, 10)
    share([b], 12)
    settle(b)
    assert missing(group, all_rows(a, b, c)) == []


def test_topics_come_and_grow(group: CoordinatedGroup) -> None:
    read_what_comes(group)


def test_topics_come_and_grow_where_brokers_do_not_register(kraft_group: CoordinatedGroup) -> None:
    read_what_comes(kraft_group)


def read_what_comes(group: CoordinatedGroup) -> None:
    a = group.query(pattern=f"{group.name}-wild-.*", starting="latest")
    a.trigger()
    first = group.topic(2, f"{group.name}-wild-a")
    group.produce(first, 3)
    a.until(6)
    group.sandbox.add_partitions(first, 4)
    group.produce(first, 3)
    a.until(18)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert len(a.held) == 4


def test_a_join_costs_those_who_give_nothing_up_not_a_single_request(
    group: CoordinatedGroup,
) -> None:
    topic = group.topic(6)
    queries = [group.query(topic, threads="1") for _ in range(3)]
    share_evenly = [1, 1, 2, 2]
    wait_until(
        lambda: [q.trigger() for q in queries] and [len(q.held) for q in queries] == [2, 2, 2],
        20,
        "three to share",
        interval_s=0.0,
    )
    settle(*queries)
    before = {q: (q.held, requests(q)) for q in queries}
    queries.append(group.query(topic, threads="1"))
    wait_until(
        lambda: (
            [q.trigger() for q in queries] and sorted(len(q.held) for q in queries) == share_evenly
        ),
        20,
        "four to share",
        interval_s=0.0,
    )
    settle(*queries)
    untouched = [q for q, (held, _) in before.items() if q.held == held]
    assert len(untouched) == 2
    assert [requests(q) for q in untouched] == [before[q][1] for q in untouched]


def requests(query: Query) -> int:
    context = query.membership.keeper.context
    assert context is not None
    return context.store.requests


def test_an_expired_member_comes_back_as_another_life(group: CoordinatedGroup) -> None:
    topic = group.topic(6)
    group.produce(topic, 10)
    a, b = group.query(topic), group.query(topic)
    settle(a, b)
    group.expire(a)
    group.produce(topic, 10)
    share([a, b], 6)
    settle(a, b)
    assert missing(group, all_rows(a, b)) == []


def test_a_new_coordinator_moves_nothing(group: CoordinatedGroup) -> None:
    topic = group.topic(6)
    a, b = group.query(topic), group.query(topic)
    share([a, b], 6)
    settle(a, b)
    before = group.owner_lives(topic)
    told = {known(query)["generation"] for query in (a, b)}
    group.kill(group.coordinator())
    group.candidate("two")

    def assigned_again() -> bool:
        a.trigger()
        b.trigger()
        return not told & {known(query)["generation"] for query in (a, b)}

    wait_until(assigned_again, 20, "both to receive new commands", interval_s=0.0)
    settle(a, b)
    assert group.owner_lives(topic) == before


def test_the_coordinator_is_killed_in_mid_rebalance(group: CoordinatedGroup) -> None:
    """The stop has been sent, or answered, or nothing of it: whatever the next one finds."""
    topic = group.topic(12)
    group.produce(topic, 10)
    group.candidate("two")
    queries = [group.query(topic)]
    settle(*queries)
    for kind in ("unanswered", "answered", "unread"):
        newcomer = group.query(topic)
        newcomer.trigger()
        if kind != "unread":
            slow = queries[0]
            wait_until(
                lambda slow=slow: group.below(f"channel/{slow.membership.member}"),  # type: ignore[misc]
                10,
                "a stop to be sent",
            )
        if kind == "answered":
            for query in queries:
                query.trigger()
        group.kill(group.coordinator())
        group.candidate(f"after {kind}")
        queries.append(newcomer)
        group.produce(topic, 2)
        share(queries, 12)
        settle(*queries)
    assert missing(group, all_rows(*queries)) == [] == twice(all_rows(*queries))


def test_a_crash_and_a_restart_replay_exactly(group: CoordinatedGroup) -> None:
    topic = group.topic(4)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="2000")
    a.until(40)
    group.produce(topic, 10)
    begin_a_batch(a)
    a.crash()
    again = group.query(topic, checkpoint, session="2000")
    settle(again)
    rows = all_rows(a, again)
    assert missing(group, rows) == [] == twice(rows)


def test_a_group_with_members_in_both_registries_is_refused_by_name(
    group: CoordinatedGroup,
) -> None:
    topic = group.topic(2)
    old = group.query(topic, protocol="zookeeper")
    settle(old)
    new = group.query(topic)
    with pytest.raises(AssignmentError, match=old.membership.member):
        new.trigger()
    assert group.below("ids") == []
    old.stop()
    new = group.query(topic)
    settle(new)
    other = group.query(topic, protocol="zookeeper")
    with pytest.raises(AssignmentError, match=new.membership.member):
        other.trigger()
