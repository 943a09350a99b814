"""What a member says in its log where it reads nothing, or where others assign differently."""

from __future__ import annotations

import logging

import pytest

from tests.harness.group import Group, settle, waits_for
from tests.harness.spark_order import Query
from tests.harness.told_group import ToldGroup
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox


def said(caplog: pytest.LogCaptureFixture, text: str) -> list[str]:
    return [message for message in caplog.messages if text in message]


def disputes(query: Query) -> bool:
    return any("They would claim" in note for note in query.planner.boundary.standing.notes)


def told_of(named: Query, odd: Query, other: Query, caplog: pytest.LogCaptureFixture) -> str:
    """What the member that assigns differently logs about this one."""

    def told() -> list[str]:
        odd.trigger()
        other.trigger()
        return said(caplog, f"[ZKG-181] {named.membership.member} of the same group")

    (line,) = wait_until(told, 10, "it to be logged", interval_s=0.0)
    return line


def test_members_that_assign_differently_say_so_when_one_rejoins_the_others(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    """The odd one is away while the other joins, so neither could be refused."""
    topic = group.topic(4)
    odd = group.query(topic, strategy="roundrobin")
    settle(odd)
    group.expire(odd)
    wait_until(lambda: not group.owners(topic), 10, "its nodes to go")
    other = group.query(topic, strategy="range")
    settle(other)
    assert said(caplog, "[ZKG-181]") == []
    assert "partition.assignment.strategy" in told_of(odd, odd, other, caplog)
    assert "partition.assignment.strategy" in told_of(other, odd, other, caplog)
    for query in (odd, other):
        assert disputes(query)
    other.stop()
    settle(odd)
    assert not disputes(odd)
    assert len(said(caplog, "[ZKG-181]")) == 2


def test_a_missing_topic_and_a_surplus_member_are_reported(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    topic = group.topic(1)
    with caplog.at_level(logging.INFO, "pyspark_zkgroup.group"):
        settle(group.query(topic, threads="1"), group.query(topic, threads="1"))
        astray = group.query("no-such-topic")
        settle(astray)
    (line,) = said(caplog, "[ZKG-182]")
    assert group.name in line
    assert line.endswith(
        ": topic no-such-topic does not exist yet. Correct the subscription, or create the topic: "
        "it is read as soon as it exists"
    )
    (spare,) = said(caplog, "Nothing to read in group")
    assert "its topics have 1 partitions, and 2 members read them" in spare


def test_a_member_without_a_coordinator_says_so(
    sandbox: Sandbox, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyspark_zkgroup.protocols.emptiness._PATIENCE_S", 0.0)
    told = ToldGroup(sandbox)
    try:
        untold = told.query(told.topic(1), protocol="coordinator", coordinator_candidate="false")
        untold.trigger()
        untold.trigger()
        (line,) = said(caplog, "[ZKG-183]")
        assert f"group {told.name} has received no assignment" in line
    finally:
        told.close()


def test_what_a_member_waits_for_it_does_not_lay_to_its_own_batch(
    group: Group, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offsets are gone with their reader: the other leaves them to it for a while."""
    monkeypatch.setattr("pyspark_zkgroup.protocols.zookeeper.unread._PATIENCE_S", 0.0)
    topic = group.topic(2)
    group.produce(topic, 2)
    left, dead = (group.query(topic, threads="1", session="1000") for _ in range(2))
    settle(left, dead)
    (partition,) = [p.partition for p in dead.held]
    dead.crash()
    group.client.delete(group.offset_path(topic, partition))
    wait_until(lambda: left.trigger() or waits_for(left, partition), 10, "it to be missed")
    for _ in range(5):
        group.produce(topic, 1)
        left.until(len(left.rows) + 1)
    assert "was lost" in waits_for(left, partition)
    assert said(caplog, "[ZKG-121]") == []
