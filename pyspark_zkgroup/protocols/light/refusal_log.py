"""Logs refusals, at a limited rate, so that refused clients cannot fill the log."""

from __future__ import annotations

import logging
import threading

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, Clock

_EACH_S = 60.0
_AT_ONCE = 10
_log = logging.getLogger("pyspark_zkgroup.coordinator")


class RefusalLog:
    """Limits lines of each kind per minute; the next line says how many were left out."""

    def __init__(self, clock: Clock = SYSTEM) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        # By kind: when its minute began, and how often it came since.
        self._said: dict[str, tuple[float, int]] = {}

    def may_say(self, kind: str) -> bool:
        now = self._clock.monotonic()
        with self._lock:
            began, count = self._said.get(kind, (now, 0))
            is_over = now - began >= _EACH_S
            passed_over = max(0, count - _AT_ONCE) if is_over else 0
            if is_over:
                began, count = now, 0
            self._said[kind] = began, count + 1
        if passed_over:
            _log.warning(catalogue.warning("ZKG-193", count=passed_over))
        return count < _AT_ONCE
