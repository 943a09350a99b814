"""Clocks that are passed in, so that a test can stop or advance them."""

from __future__ import annotations

import queue
import time
from typing import Protocol, TypeVar

Event = TypeVar("Event")


_RUNNING_ON: int | None = getattr(time, "CLOCK_BOOTTIME", None)


def monotonic() -> float:
    """Seconds since some moment; never goes back, and counts the time for which the machine was
    suspended, where the platform has such a clock (Linux).

    A member holds a partition; its machine is suspended beyond the session; another member is given
    the partition. By a clock that was suspended with it the lease has not ended, and while the
    server stays silent the first plan after the resume would be made under it.
    """
    return time.monotonic() if _RUNNING_ON is None else time.clock_gettime(_RUNNING_ON)


class Clock(Protocol):
    def monotonic(self) -> float:
        """Seconds since some moment, those while the machine was suspended among them where the
        platform counts them; never goes back.
        """

    def sleep(self, seconds: float) -> None:
        """Returns after so many seconds."""


class EventClock(Clock, Protocol):
    """What a member needs in addition: the time of day, and waiting that an event can end."""

    def time(self) -> float:
        """Seconds since 1970, as this machine has it."""

    def next_of(self, events: queue.SimpleQueue[Event], timeout_s: float) -> Event | None:
        """The next event; None if none has come in so many seconds."""


class SystemClock:
    def monotonic(self) -> float:
        return monotonic()

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
