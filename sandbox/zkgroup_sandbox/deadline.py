"""Waiting for a condition with a deadline; the only place of the sandbox that sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(condition: Callable[[], bool], deadline_s: float, *, interval_s: float = 0.05) -> bool:
    """True as soon as the condition holds, False when the deadline has passed without it."""
    ends = time.monotonic() + deadline_s
    while True:
        if condition():
            return True
        if time.monotonic() >= ends:
            return False
        time.sleep(interval_s)
