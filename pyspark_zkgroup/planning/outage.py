"""Logs an outage of the brokers: at once, then every 30 s, and when they answer again."""

from __future__ import annotations

import logging

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock

_REPEATED_S = 30.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class Outage:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began: float | None = None
        self._told_at = float("-inf")

    def goes_on(self, error: Exception) -> None:
        now = self._clock.monotonic()
        if self._began is None:
            self._began, self._told_at = now, float("-inf")
        if now - self._told_at < _REPEATED_S:
            return
        self._told_at = now
        waited_s = now - self._began
        since = f" for {waited_s:.0f} s" if waited_s >= _REPEATED_S else ""
        _log.warning(catalogue.warning("ZKG-108", error=error, since=since))

    def ends(self) -> None:
        if self._began is None:
            return
        waited_s = self._clock.monotonic() - self._began
        self._began = None
        _log.info("The brokers answer again after %.0f s", waited_s)
