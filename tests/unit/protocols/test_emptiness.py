"""A member logs once why it reads nothing, and repeatedly that it has no assignment."""

from __future__ import annotations

import re

import pytest

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.emptiness import Emptiness
from tests.fakes.still_clock import StillClock

T = [TopicPartition("t", n) for n in range(3)]


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


def test_a_missing_topic_is_logged_once(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    emptiness = Emptiness("g", clock)
    for _ in range(3):
        emptiness.look([], ["topic x does not exist yet"], list)
    emptiness.look(T, ["topic x does not exist yet", "topic y does not exist yet"], lambda: T)
    assert caplog.messages == [
        catalogue.warning("ZKG-182", group="g", missing=missing)
        for missing in (
            "topic x does not exist yet",
            "topic x does not exist yet; topic y does not exist yet",
        )
    ]


def test_that_others_own_everything_is_logged_once_each_time(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    emptiness = Emptiness("g", clock)
    with caplog.at_level("INFO", "pyspark_zkgroup.group"):
        for mine in ([], [], T[:1], [], []):
            emptiness.look(mine, [], lambda: T)
    assert [line.count("all 3 partitions") for line in caplog.messages] == [1, 1]


def test_a_member_without_an_assignment_warns_repeatedly(
    clock: StillClock, caplog: pytest.LogCaptureFixture
) -> None:
    emptiness = Emptiness("g", clock)
    for _ in range(100):
        emptiness.untold()
        clock.sleep(1.0)
    waited = [re.findall(r"for (\d+) s", message)[0] for message in caplog.messages]
    assert waited == ["10", "40", "70"]
    emptiness.look(T, [], lambda: T)
    emptiness.untold()
    assert len(caplog.messages) == 3
