"""Waiting in tests: for a condition and with a deadline, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

State = TypeVar("State")


def wait_until(
    predicate: Callable[[], State],
    deadline_s: float,
    what: str,
    *,
    interval_s: float = 0.05,
) -> State:
    """The predicate's first true value; fails with what it last gave when the deadline passes.

    Let the predicate return the state it looked at, so that a failure shows it. A predicate that
    raises counts as not yet true, and the failure shows its error.
    """
    ends = time.monotonic() + deadline_s
    while True:
        last: object
        try:
            last = value = predicate()
            if value:
                return value
        except Exception as error:  # noqa: BLE001 - shown below if it stays
            last = error
        if time.monotonic() >= ends:
            raise AssertionError(f"waited {deadline_s} s for {what}; last state: {last!r}")
        time.sleep(interval_s)
