"""For how long a member of a broker's group may take what it holds for its own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.lease import KafkaLease
from tests.fakes.still_clock import StillClock


def test_what_was_held_under_an_earlier_life_is_not_proved() -> None:
    def heartbeat(_member: object) -> int:
        raise AssertionError("no heartbeat can prove it")

    member = SimpleNamespace(life=2, may_commit=True)
    requests: Any = SimpleNamespace(kept=SimpleNamespace(member=member), heartbeat=heartbeat)
    assert not KafkaLease(KafkaHoldings(life=1), requests).prove()


def test_a_silent_coordinator_is_named_once_the_lease_has_ended() -> None:
    clock = StillClock()
    kept = SimpleNamespace(clock=clock, lease_ends=clock.now + 4.5)
    requests: Any = SimpleNamespace(kept=kept, trouble="connection refused")
    lease = KafkaLease(KafkaHoldings(), requests)
    assert lease.silence() == ""
    clock.sleep(4.5)
    assert lease.silence() == "the group coordinator is silent: connection refused"
