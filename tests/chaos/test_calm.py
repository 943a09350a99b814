"""Faults of which nothing may come, on runs made by hand."""

from __future__ import annotations

from dataclasses import replace

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.calm import disturbances
from tests.chaos.values import FOREVER, Fault, Tenure

P = TopicPartition("t", 0)
CUT = Fault(4, "ZooKeeper cut off shortly", "a", 20.0, 25.0, ("a",), calm=True, healed=25.0)
KILL = Fault(3, "driver killed", "a", 5.0, 5.0, ("a",), hard=True, healed=6.0)
ENDED = Tenure(P, "g_a", 1, 0.0, 23.0, 23.5)
STANDS = replace(ENDED, gone=FOREVER)


def test_a_claim_that_ends_meanwhile_is_reported() -> None:
    found = list(disturbances([KILL, CUT], [ENDED, ENDED], []))
    assert found == ["2 claims ended during fault 4 (ZooKeeper cut off shortly)"]


def test_claims_that_stand_or_end_at_another_time_are_not() -> None:
    tenures = [STANDS, replace(ENDED, gone=19.9), replace(ENDED, gone=25.1)]
    assert list(disturbances([CUT], tenures, [])) == []


def test_other_faults_may_end_claims() -> None:
    assert list(disturbances([replace(CUT, calm=False)], [ENDED], [])) == []


def test_what_had_not_settled_before_may_move_on() -> None:
    assert list(disturbances([replace(KILL, settled=False), CUT], [ENDED], [])) == []


def test_a_session_that_ended_at_that_time_is_a_separate_fault() -> None:
    noted = Fault(-1, "session ended", "b", 8.0, 23.0, ("b",), hard=True, injected=False)
    assert list(disturbances([CUT], [ENDED], [noted])) == []
    assert list(disturbances([CUT], [ENDED], [replace(noted, at=1.0, until=19.0)]))


def test_of_two_that_overlap_neither_is_judged_alone() -> None:
    cut, kill = replace(CUT, over=40.0), replace(KILL, number=5, at=21.0, until=21.0, over=40.0)
    assert list(disturbances([cut, kill], [ENDED], [])) == []
    assert list(disturbances([cut, replace(kill, at=41.0, over=60.0)], [ENDED], []))
