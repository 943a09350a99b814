"""For how long a restart waits for the member that has its partitions, and what it reads then."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import Fence, OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.replay import KafkaReplay
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset, metadata_of

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
OURS, MOVED = Fence("1a-0.7"), Fence("1a-0.8")
PLAN = Plan(
    "kafka",
    "g",
    "me",
    (PlannedRange(P0, OffsetRange(5, 6), 0, OURS), PlannedRange(P1, OffsetRange(5, 5), 0, OURS)),
)


class Rounds:
    """Of a member that is assigned what a test says. Each wait takes its time."""

    def __init__(self, *assigned: TopicPartition) -> None:
        self.now = 0.0
        self.token = OURS
        self.outages = self.rebalances = 0
        self.holdings = KafkaHoldings()
        self.claims = SimpleNamespace(
            move_fence=self._move, requests=SimpleNamespace(read=self._read)
        )
        self.lease = SimpleNamespace(prove=lambda: True)
        self.member = SimpleNamespace(
            life=self.holdings.life, phase="stable", assigned=frozenset(assigned)
        )
        self.kept = SimpleNamespace(
            group="g",
            clock=SimpleNamespace(monotonic=lambda: self.now),
            member=self.member,
            await_change=self._wait,
        )

    def refresh_topics(self) -> None:
        if self.outages:
            self.outages -= 1
            raise ServerError("away")

    def rejoin(self) -> Any:
        self.rebalances -= 1
        self.member.phase = "stable" if self.rebalances < 0 else "rebalancing"
        return self.member

    def _wait(self, _seen: object, timeout_s: float) -> None:
        self.now += timeout_s

    def _read(self, partitions: list[TopicPartition]) -> dict[TopicPartition, GroupOffset]:
        return {p: GroupOffset(5, metadata_of(self.token)) for p in partitions}

    def _move(self, _member: object, others: dict[TopicPartition, GroupOffset]) -> None:
        assert set(others) == {P0}
        self.token = MOVED


def test_what_is_still_assigned_to_us_is_read_again_at_once() -> None:
    rounds: Any = Rounds(P0)
    assert KafkaReplay(rounds, PLAN, patience_s=3.0).run() == {P0}
    assert (rounds.now, rounds.holdings.held) == (0.0, {P0})


def test_another_members_partition_is_waited_for_and_then_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """It may have died without having read anything: for a session and a rebalance."""
    rounds: Any = Rounds()
    assert KafkaReplay(rounds, PLAN, patience_s=3.0).run() == frozenset()
    assert rounds.now == pytest.approx(3.0, abs=0.3)
    assert rounds.token == MOVED
    assert "ZKG-167" in caplog.text


def test_what_the_replay_waits_for_is_logged_now_and_then(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rounds: Any = Rounds(P0)
    rounds.outages = 300
    KafkaReplay(rounds, PLAN, patience_s=3.0).run()
    said = sum("ZKG-166" in message for message in caplog.messages)
    assert 1 < said < 10


def test_an_assignment_is_waited_for_with_pauses() -> None:
    rounds: Any = Rounds(P0)
    rounds.rebalances = 10
    assert KafkaReplay(rounds, PLAN, patience_s=3.0).run() == {P0}
    assert 1.0 <= rounds.now <= 10.0


def test_what_is_assigned_after_a_lost_membership_is_decided() -> None:
    rounds: Any = Rounds(P0)
    lost = SimpleNamespace(life=rounds.holdings.life + 1)
    members = iter([lost, rounds.member])
    rounds.rejoin = lambda: next(members)
    assert KafkaReplay(rounds, PLAN, patience_s=3.0).run() == {P0}
