"""Partitions that are waited for: a warning only after a while, and a line when it is over."""

from __future__ import annotations

import logging

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.waiting import PATIENCE_S, Waiting
from tests.fakes.still_clock import StillClock

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def waiting(clock: StillClock, caplog: pytest.LogCaptureFixture) -> Waiting:
    caplog.set_level(logging.INFO, "pyspark_zkgroup.group")
    return Waiting("g", clock)


def test_an_ordinary_join_logs_nothing(
    waiting: Waiting, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    waiting.note({P0: "owned by b-0"})
    waiting.say(3)
    clock.sleep(PATIENCE_S - 1)
    waiting.say(3)
    waiting.note({})
    assert caplog.messages == []


def test_a_long_wait_is_logged_repeatedly_and_its_end_too(
    waiting: Waiting, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    waiting.note({P0: "owned by b-0"})
    clock.sleep(PATIENCE_S)
    waiting.say(3)
    waiting.say(3)
    assert [m.split("]")[0] for m in caplog.messages] == ["[ZKG-122"]
    assert "t-0 for 10 s: owned by b-0" in caplog.text
    clock.sleep(30.0)
    waiting.say(3)
    assert len(caplog.messages) == 2
    waiting.note({P1: "owned by c-0"})
    assert caplog.messages[2:] == ["Group g: no longer waiting for the partitions of ZKG-122"]
    waiting.say(3)
    assert len(caplog.messages) == 3


def test_another_partition_that_waits_too_long_is_logged_at_once(
    waiting: Waiting, clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    waiting.note({P0: "owned by b-0"})
    clock.sleep(PATIENCE_S)
    waiting.say(3)
    waiting.note({P0: "owned by b-0", P1: "owned by c-0"})
    waiting.say(3)
    assert len(caplog.messages) == 1
    clock.sleep(PATIENCE_S)
    waiting.say(3)
    assert len(caplog.messages) == 2
