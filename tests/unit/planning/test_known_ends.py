"""Log ends while brokers are away."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.ranges.gaps import Gap
from tests.unit.planning.planner_scene import P0, P1, Desk, away, desk, plan


@pytest.fixture
def d() -> Desk:
    return desk()


def test_a_new_query_without_brokers_fails_and_a_running_one_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = desk()
    with monkeypatch.context() as patch:
        patch.setattr(d.brokers, "log_ends", away)
        with pytest.raises(ServerError):
            d.next(d.planner.initial_offset())
    end = d.batch(d.planner.initial_offset())
    monkeypatch.setattr(d.brokers, "log_ends", away)
    assert d.next(end) is end


def test_a_restarted_query_without_brokers_waits(d: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(d.brokers, "log_ends", away)
    start = plan()
    assert d.next(start) is start


def test_what_brokers_said_before_an_outage_is_not_taken_for_an_answer(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    end = d.batch(d.planner.initial_offset())
    looks: list[object] = []

    def look(*given: object) -> list[Gap]:
        looks.append(given)
        return []

    monkeypatch.setattr(d.brokers, "log_ends", away)
    monkeypatch.setattr(d.planner.boundary.logs, "look", look)
    assert d.next(end) is end
    assert d.group.commits[-1] == {P0: 10, P1: 10}
    assert looks == []


def test_a_running_query_waits_for_brokers_that_answered_for_nothing_before(
    d: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All leaders are away for a moment, then all brokers."""
    end = d.batch(d.planner.initial_offset())
    monkeypatch.setattr(d.brokers, "log_ends", lambda _partitions: {})
    assert d.next(end) is end
    monkeypatch.setattr(d.brokers, "log_ends", away)
    d.group.clock.now += 10.0
    assert d.next(end) is end
