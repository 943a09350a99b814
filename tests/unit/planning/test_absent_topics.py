"""A job that ends by itself says so when a topic that it names does not exist."""

from __future__ import annotations

import logging

import pytest

from pyspark_zkgroup.errors import SubscriptionError
from tests.unit.planning.planner_scene import Desk, desk


def job(monkeypatch: pytest.MonkeyPatch, *, exists: int = 0, **options: str) -> Desk:
    """It reads a topic whose name is misspelt, or that has just been created."""
    d = desk(**options)
    d.planner.prepare_available_now()
    d.brokers.topics = {"order": 2, "orders": exists} if exists else {"order": 2}
    d.group.positions.clear()
    monkeypatch.setattr(d.group, "subscribed", list)
    return d


def test_a_job_fails_if_its_topic_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    d = job(monkeypatch)
    with pytest.raises(SubscriptionError, match=r"no topic 'orders' \(similar names: order\)"):
        d.next(d.planner.initial_offset())
    assert d.group.clock.now >= 5.0  # one broker may not know a new topic yet


def test_trigger_once_is_such_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    d = job(monkeypatch)
    d.planner.next_plan.is_available_now = False
    with pytest.raises(SubscriptionError):
        d.next(d.planner.initial_offset(), once=True)


def test_a_query_without_an_end_waits_for_the_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    d = job(monkeypatch)
    d.planner.next_plan.is_available_now = False
    start = d.planner.initial_offset()
    assert d.next(start) is start


def test_a_topic_that_a_broker_knows_by_now_is_no_mistake(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = job(monkeypatch)
    monkeypatch.setattr(d.group, "wait", lambda _s: d.brokers.topics.update(orders=2))
    start = d.planner.initial_offset()
    assert d.next(start) is start


def test_where_losses_are_allowed_it_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    d = job(monkeypatch, failOnDataLoss="false")
    start = d.planner.initial_offset()
    with caplog.at_level(logging.WARNING, "pyspark_zkgroup"):
        assert d.next(start) is start
    assert "ZKG-101" in caplog.text
    assert "'orders'" in caplog.text


def test_a_member_that_has_not_joined_yet_knows_of_no_topics(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    d = job(monkeypatch)
    d.group.settled = False
    start = d.planner.initial_offset()
    assert d.next(start) is start
