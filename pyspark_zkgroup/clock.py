"""Time as something that is handed in, so that a test can hold it still, or move it."""

from __future__ import annotations

import queue
import time
from typing import Protocol, TypeVar

Event = TypeVar("Event")


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""

    def sleep(self, seconds: float) -> None:
        """Returns after so many seconds."""


class EventClock(Clock, Protocol):
    """What a member needs besides: the time of day, and to wait for what may happen earlier."""

    def time(self) -> float:
        """Seconds since 1970, as this machine has it."""

    def next_of(self, events: queue.SimpleQueue[Event], timeout_s: float) -> Event | None:
        """The next event; None if none has come in so many seconds."""


class SystemClock:
    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def next_of(self, events: queue.SimpleQueue[Event], timeout_s: float) -> Event | None:
        try:
            return events.get(timeout=timeout_s)
        except queue.Empty:
            return None


SYSTEM: EventClock = SystemClock()
