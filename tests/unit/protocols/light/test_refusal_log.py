"""How often refusals are logged."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.protocols.light.refusal_log import RefusalLog
from tests.fakes.still_clock import StillClock


def test_ten_lines_of_a_kind_are_logged_in_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = StillClock()
    refusals = RefusalLog(clock)
    assert [refusals.may_say("full") for _ in range(13)] == [True] * 10 + [False] * 3
    assert refusals.may_say("late"), "each kind counts alone"
    clock.now += 59.9
    assert not refusals.may_say("full")
    assert caplog.messages == []
    clock.now += 0.1
    assert refusals.may_say("full")
    (said,) = caplog.messages
    assert said.startswith("[ZKG-193] ")
    assert " 4 " in said
    clock.now += 60.0
    assert refusals.may_say("full")
    assert len(caplog.messages) == 1, "nothing was left out in between"
