"""Tracks partitions that are assigned but not held: since when, why, and when to log it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.model import TopicPartition

_SAID_EVERY_S = 30.0
_SHOWN_MAX = 20
_log = logging.getLogger("pyspark_zkgroup.group")


class Waiting:
    def __init__(self, group: str, clock: EventClock) -> None:
        self.group = group
        self._clock = clock
        self.reasons: dict[TopicPartition, str] = {}
        self._since: dict[TopicPartition, float] = {}
        self._said_at = float("-inf")

    def note(self, reasons: Mapping[TopicPartition, str]) -> None:
        now = self._clock.monotonic()
        if reasons.keys() - self.reasons.keys():
            self._said_at = float("-inf")
        self.reasons = dict(reasons)
        self._since = {p: self._since.get(p, now) for p in reasons}

    def shown(self) -> dict[str, str]:
        now = self._clock.monotonic()
        return {
            str(p): f"{reason}, for {now - self._since[p]:.0f} s"
            for p, reason in sorted(self.reasons.items())[:_SHOWN_MAX]
        }

    def say(self, held: int) -> None:
        """At once when something new is waited for, then now and again."""
        now = self._clock.monotonic()
        if not self.reasons or now - self._said_at < _SAID_EVERY_S:
            return
        self._said_at = now
        first, reason = min(self.reasons.items())
        _log.warning(
            catalogue.warning(
                "ZKG-122",
                count=len(self.reasons),
                group=self.group,
                partition=first,
                reason=reason,
                waited_s=now - self._since[first],
                held=held,
            )
        )
