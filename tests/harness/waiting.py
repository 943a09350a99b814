"""Waiting in tests: for a condition and with a deadline, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pyspark_zkgroup.clock import Clock

State = TypeVar("State")


class RealTime:
    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


REAL_TIME: Clock = RealTime()


def wait_until(
    predicate: Callable[[], State],
    deadline_s: float,
    what: str,
    *,
    interval_s: float = 0.05,
    clock: Clock = REAL_TIME,
) -> State:
    """The predicate's first true value; fails with what it last gave when the deadline passes.

    Let the predicate return the state it looked at, so that a failure shows it. A predicate that
    raises counts as not yet true, and the failure shows its error.
    """
    ends = clock.monotonic() + deadline_s
    while True:
        last: object
        try:
            last = value = predicate()
            if value:
                return value
        except Exception as error:  # noqa: BLE001 - shown below if it stays
            last = error
        if clock.monotonic() >= ends:
            raise AssertionError(f"waited {deadline_s} s for {what}; last state: {last!r}")
        clock.sleep(interval_s)
