"""Members join, share, leave and die; topics come, grow and go. One process, real servers."""

from __future__ import annotations

import time

import pytest

from pyspark_zkgroup.errors import AssignmentError
from tests.harness.group import Group, all_rows, known, missing, settle, twice
from tests.harness.waiting import wait_until


def test_a_lone_member_reads_all_and_commits_what_is_done(group: Group) -> None:
    topic = group.topic(5)
    group.produce(topic, 20)
    query = group.query(topic)
    query.until(100)
    assert missing(group, query.rows) == [] == twice(query.rows)
    query.trigger()  # the boundary after the batch proves and commits it
    assert group.offsets(topic) == dict.fromkeys(range(5), b"20")
    assert set(group.owners(topic).values()) == {f"{query.membership.member}-{n}" for n in (0, 1)}


def test_a_newcomer_takes_its_share_and_what_stays_is_never_released(group: Group) -> None:
    topic = group.topic(12)
    group.produce(topic, 10)
    a = group.query(topic)
    a.until(120)
    before = group.owner_lives(topic)
    b = group.query(topic)
    b.trigger()
    assert len(b.held) == 0
    assert "owned by" in next(iter(b.planner.boundary.standing.waiting.values()))
    settle(a, b)
    assert (len(a.held), len(b.held)) == (6, 6)
    kept = {p.partition for p in a.held}
    after = group.owner_lives(topic)
    assert {p: after[p] for p in kept} == {p: before[p] for p in kept}
    c = group.query(topic)
    settle(a, b, c)
    assert [len(q.held) for q in (a, b, c)] == [4, 4, 4]
    group.produce(topic, 10)
    settle(a, b, c)
    assert missing(group, all_rows(a, b, c)) == [] == twice(all_rows(a, b, c))


def test_a_clean_stop_frees_at_once_and_a_crash_after_the_session(group: Group) -> None:
    topic = group.topic(12)
    group.produce(topic, 10)
    a, b, c = (group.query(topic, session="2000") for _ in range(3))
    settle(a, b, c)
    a.stop()
    assert len(group.owners(topic)) == 8
    settle(b, c)
    assert (len(b.held), len(c.held)) == (6, 6)
    c.crash()
    group.produce(topic, 10)
    began = time.monotonic()

    def b_has_all() -> bool:
        b.trigger()
        return len(b.held) == 12

    wait_until(b_has_all, 15, "b to own all", interval_s=0.0)
    assert time.monotonic() - began < 6
    settle(b)
    assert missing(group, all_rows(a, b, c)) == []


def test_more_threads_than_partitions(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 5)
    a, b = group.query(topic, threads="4"), group.query(topic, threads="4")
    settle(a, b)
    assert len(a.held) + len(b.held) == 3
    assert min(len(a.held), len(b.held)) == 1
    assert missing(group, all_rows(a, b)) == [] == twice(all_rows(a, b))


def test_a_topic_gains_partitions(group: Group) -> None:
    topic = group.topic(2)
    a = group.query(topic, starting="latest")
    settle(a)
    group.sandbox.add_partitions(topic, 5)
    group.produce(topic, 4)
    a.until(20)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert len(a.held) == 5


def test_a_topic_that_matches_the_pattern_later_is_read_from_its_beginning(group: Group) -> None:
    pattern = f"{group.name}-wild-.*"
    a = group.query(pattern=pattern, starting="latest")
    a.trigger()
    assert a.held == set()
    assert "no topic matches the subscription yet" in known(a)["notes"]
    first = group.topic(2, f"{group.name}-wild-a")
    group.produce(first, 3)  # before the member has noticed: skipped, if it asked for the end now
    a.until(6)
    second = group.topic(1, f"{group.name}-wild-b")
    group.produce(second, 3)
    a.until(9)
    assert missing(group, a.rows) == [] == twice(a.rows)


def test_a_topic_is_deleted_and_the_others_are_read_on(group: Group) -> None:
    stays, goes = group.topic(2), group.topic(2)
    for topic in (stays, goes):
        group.produce(topic, 3)
    a = group.query(f"{stays},{goes}")
    settle(a)
    assert len(a.held) == 4
    group.sandbox.delete_topic(goes)

    def two_left() -> bool:
        a.trigger()
        return {p.topic for p in a.held} == {stays}

    wait_until(two_left, 20, "the deleted topic to be released", interval_s=0.0)
    assert group.owners(goes) == {}
    del group.produced[goes]
    group.produce(stays, 3)
    settle(a)
    assert missing(group, a.rows) == []


def test_the_round_robin_orders_share_all_partitions(group: Group) -> None:
    topic = group.topic(11)
    group.produce(topic, 2)
    members = [group.query(topic, strategy="roundrobin", order="old") for _ in range(2)]
    settle(*members)
    assert sorted(len(m.held) for m in members) == [5, 6]
    assert missing(group, all_rows(*members)) == []


def test_a_member_with_another_strategy_is_refused_before_it_writes(group: Group) -> None:
    topic = group.topic(2)
    a = group.query(topic)
    a.trigger()
    before = group.dump(f"/consumers/{group.name}")
    b = group.query(topic, strategy="roundrobin")
    with pytest.raises(
        AssignmentError, match=r"this member uses roundrobin .*They would claim"
    ) as refused:
        b.trigger()
    assert "partition.assignment.strategy" in f"{refused.value}"
    assert group.dump(f"/consumers/{group.name}") == before


def test_available_now_ends_at_the_ends_it_saw_first(group: Group) -> None:
    topic = group.topic(3)
    group.produce(topic, 10)
    job = group.query(topic, available_now=True, maxOffsets="6")
    job.trigger()
    group.produce(topic, 10)
    job.drain()
    assert len(job.rows) == 30
    assert group.offsets(topic) == dict.fromkeys(range(3), b"10")


def test_available_now_waits_for_a_predecessor_that_is_about_to_expire(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    crashed = group.query(topic, session="2000")
    crashed.trigger()
    crashed.crash()
    job = group.query(topic, available_now=True, session="2000")
    job.drain()
    assert missing(group, job.rows) == []
    job.stop()
    hasty = group.query(topic, session="2000")
    hasty.trigger()
    hasty.crash()
    group.produce(topic, 5)
    unwilling = group.query(topic, available_now=True, session="2000", wait="0")
    unwilling.drain()
    assert unwilling.rows == []
