"""`max.poll.interval.ms`: a driver that is silent for longer loses its claims, and no more."""

from __future__ import annotations

from tests.harness.group import Group, all_rows, missing, settle, twice
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until

LIMIT_MS = "1500"


def forgotten(group: Group, topic: str, query: Query) -> bool:
    registered = group.client.get_children(f"/consumers/{group.name}/ids")
    mine = [t for t in group.owners(topic).values() if t.startswith(query.membership.member)]
    return query.membership.member not in registered and not mine


def test_a_driver_that_stops_calling_frees_its_share_and_joins_again(group: Group) -> None:
    topic = group.topic(4)
    a = group.query(topic, max_poll_interval_ms=LIMIT_MS, session="10000")
    b = group.query(topic)
    settle(a, b)
    group.produce(topic, 5)
    settle(a, b)
    assert len(a.held) == len(b.held) == 2
    # Well before the session could expire: its own process is alive and heard.
    wait_until(lambda: forgotten(group, topic, a), 8, "the silent member to give up")
    group.produce(topic, 5)
    b.until(30)
    settle(a, b)
    assert len(a.held) == len(b.held) == 2
    rows = all_rows(a, b)
    assert missing(group, rows) == [] == twice(rows)
    assert group.offsets(topic) == dict.fromkeys(range(4), b"10")


def test_a_batch_that_outlasts_it_comes_twice_and_commits_nothing_of_the_others(
    group: Group,
) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, max_poll_interval_ms=LIMIT_MS, session="10000")
    b = group.query(topic)

    def hang(step: str) -> None:
        if step == "read":
            wait_until(lambda: forgotten(group, topic, a), 8, "the silent member to give up")
            b.until(10)
            group.produce(topic, 5)
            b.until(20)

    a.trigger(hang)
    settle(b)
    committed = group.offsets(topic)
    a.trigger()
    assert group.offsets(topic) == committed == dict.fromkeys(range(2), b"10")
    settle(a, b)
    rows = all_rows(a, b)
    assert missing(group, rows) == []
    assert twice(rows) == sorted(a.batches[0][1])


def test_a_batch_that_outlasts_it_costs_nothing_if_no_member_took_over(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, max_poll_interval_ms=LIMIT_MS, session="10000")

    def hang(step: str) -> None:
        if step == "read":
            wait_until(lambda: forgotten(group, topic, a), 8, "the silent member to give up")

    a.trigger(hang)
    group.produce(topic, 5)
    settle(a)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert group.offsets(topic) == dict.fromkeys(range(2), b"10")


def test_a_plan_that_spark_logs_too_late_is_dropped_at_the_next_boundary(group: Group) -> None:
    """The driver stops between the answer of latestOffset and its offset log."""
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, max_poll_interval_ms=LIMIT_MS, session="10000")
    b = group.query(topic)

    def hang(step: str) -> None:
        if step == "planned":
            wait_until(lambda: forgotten(group, topic, a), 8, "the silent member to give up")
            settle(b)

    a.trigger(hang)
    settle(a, b)
    rows = all_rows(a, b)
    assert missing(group, rows) == []
    assert twice(rows) == sorted(a.batches[0][1])


def test_calls_that_come_in_time_keep_everything(group: Group) -> None:
    topic = group.topic(2)
    a = group.query(topic, max_poll_interval_ms=LIMIT_MS)
    settle(a)
    lives = group.owner_lives(topic)
    for _ in range(20):
        # An idle trigger waits a quarter of a second: five seconds in all, three times the limit.
        a.trigger()
    assert group.owner_lives(topic) == lives


def test_a_planner_that_is_terminated_while_it_gives_up_leaves_nothing_behind(
    group: Group,
) -> None:
    topic = group.topic(2)
    a = group.query(topic, max_poll_interval_ms="200")
    settle(a)
    wait_until(lambda: forgotten(group, topic, a), 8, "the silent member to give up")
    a.stop()
    a.stop()
    assert group.owners(topic) == {}
    b = group.query(topic, max_poll_interval_ms="200")
    settle(b)
    b.stop()
    assert group.owners(topic) == {}
