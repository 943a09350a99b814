"""Why the copy in Kafka is behind: logged when the reason changes, not at each attempt."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.setbacks import Setbacks
from tests.fakes.still_clock import StillClock

P = TopicPartition("t", 0)


def test_a_reason_is_logged_once_until_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    setbacks = Setbacks(StillClock())
    logged: list[int] = []
    for _ in range(2):
        setbacks.unanswered("no broker answers")
        logged.append(len(caplog.messages))
    for _ in range(2):
        setbacks.answered({P}, {P}, {P}, "no right to write")
        logged.append(len(caplog.messages))
    assert logged == [1, 1, 2, 2]
    assert "no broker answers" in caplog.messages[0]
    assert "no right to write" in caplog.messages[1]
