"""Why the copy in Kafka is behind: logged when the reason changes, not at each attempt."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.owned.setbacks import Setbacks
from tests.fakes.still_clock import StillClock

P = TopicPartition("t", 0)


def test_a_reason_is_logged_once_until_it_changes(caplog: pytest.LogCaptureFixture) -> None:
    setbacks = Setbacks(StillClock())
    for _ in range(2):
        setbacks.unanswered("no broker answers")
    for _ in range(2):
        setbacks.answered({P}, {P}, {P}, "no right to write")
    away, refused = caplog.messages
    assert "no broker answers" in away
    assert "no right to write" in refused
