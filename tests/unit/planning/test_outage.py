from __future__ import annotations

import logging

import pytest

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.planning.outage import Outage
from tests.fakes.still_clock import StillClock


def test_an_outage_is_logged_at_once_then_every_30_s_and_its_end_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    clock = StillClock()
    outage = Outage(clock)
    for _ in range(70):
        outage.goes_on(ServerError("no broker answers"))
        clock.now += 1
    outage.ends()
    outage.ends()
    assert caplog.messages == [
        "[ZKG-108] Planned no batch: [ZKG-002] no broker answers",
        "[ZKG-108] Planned no batch for 30 s: [ZKG-002] no broker answers",
        "[ZKG-108] Planned no batch for 60 s: [ZKG-002] no broker answers",
        "The brokers answer again after 70 s",
    ]


def test_the_next_outage_is_logged_at_once(caplog: pytest.LogCaptureFixture) -> None:
    outage = Outage(StillClock())
    for _ in range(2):
        outage.goes_on(ServerError("away"))
        outage.ends()
    assert caplog.messages == ["[ZKG-108] Planned no batch: [ZKG-002] away"] * 2
