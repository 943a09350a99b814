"""How long each side relies on a session between a light member and its coordinator.

The member counts from when it *sent* the newest message that the coordinator has acknowledged, and
stops planning a quarter of the timeout early. The coordinator counts from when it *received* the
newest message, which is later, and waits for the full timeout. So a member has stopped planning
before its coordinator can count it as dead, whatever was lost in between, as long as the rates of
the two clocks differ by less than a quarter.
"""

from __future__ import annotations

_MARGIN = 0.25
_BEATS_PER_TIMEOUT = 6.0


def member_may_plan_until(acknowledged_at: float, timeout_s: float) -> float:
    return acknowledged_at + timeout_s * (1.0 - _MARGIN)


def counted_dead_at(heard_at: float, timeout_s: float) -> float:
    return heard_at + timeout_s


def beat_every_s(timeout_s: float) -> float:
    """Return the interval of pings: two may be lost before the member stops planning."""
    return timeout_s / _BEATS_PER_TIMEOUT


def stream_silent_at(heard_at: float, timeout_s: float) -> float:
    """Return when the member regards its connection as broken without an error: half the
    timeout.
    """
    return heard_at + timeout_s / 2.0
