"""The clock that leases are measured by counts the time for which the machine was suspended."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import pyspark_zkgroup
from pyspark_zkgroup import clock
from pyspark_zkgroup.clock import SYSTEM

PACKAGE = Path(pyspark_zkgroup.__file__).parent


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="the platform has no such clock")
@pytest.mark.parametrize("now", [clock.monotonic, SYSTEM.monotonic])
def test_it_is_the_one_that_runs_on(now: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an hour's suspension, during which CLOCK_MONOTONIC did not advance."""
    real = time.clock_gettime
    before = now()  # type: ignore[operator]

    def after(which: int) -> float:
        return real(which) + (3600.0 if which == time.CLOCK_BOOTTIME else 0.0)

    monkeypatch.setattr(time, "clock_gettime", after)
    assert now() - before >= 3600.0  # type: ignore[operator]


def test_a_platform_without_it_has_pythons_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_RUNNING_ON", None)
    before = time.monotonic()
    assert before <= clock.monotonic() <= time.monotonic()


@pytest.mark.parametrize("room", ["zk", "protocols"])
def test_whatever_measures_a_lease_asks_that_clock(room: str) -> None:
    others = [
        str(path.relative_to(PACKAGE))
        for path in sorted((PACKAGE / room).rglob("*.py"))
        if "time.monotonic" in path.read_text(encoding="utf-8").replace("clock.monotonic", "")
    ]
    assert others == []
