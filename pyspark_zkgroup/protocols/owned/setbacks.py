"""Why the copy of the offsets in Kafka is behind, and when to try again what was not taken."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Set

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.model import TopicPartition

_PAUSE_S_MIN, _PAUSE_S_MAX = 1.0, 60.0
_log = logging.getLogger("pyspark_zkgroup.group")


class Setbacks:
    """`trouble` is why the copy is behind; empty if it is not. Pauses double, up to a minute."""

    def __init__(self, clock: Clock) -> None:
        self.trouble = ""
        self._clock = clock
        self._refused: frozenset[TopicPartition] = frozenset()
        self._silent = False
        self._paused_until = float("-inf")
        self._pause_s = _PAUSE_S_MIN

    def allowed(
        self, due: Mapping[TopicPartition, int], now: float
    ) -> Mapping[TopicPartition, int]:
        """Return what may be copied now. Partitions that were refused individually do not delay
        the others.
        """
        if now >= self._paused_until:
            return due
        return {} if self._silent else {p: n for p, n in due.items() if p not in self._refused}

    def unanswered(self, reason: str) -> None:
        self._silent = True
        self._pause(reason)

    def answered(
        self,
        asked: Set[TopicPartition],
        refused: Set[TopicPartition],
        held: Collection[TopicPartition],
        reason: str,
    ) -> None:
        """`reason` says why `refused` was not taken."""
        self._silent = refused == asked
        self._refused = (self._refused.intersection(held) - asked) | refused
        if refused:
            self._pause(reason)
        elif self.trouble and not self._refused:
            _log.info("The offsets in Kafka are up to date again")
            self.trouble, self._pause_s, self._paused_until = "", _PAUSE_S_MIN, float("-inf")

    def _pause(self, reason: str) -> None:
        self._paused_until = self._clock.monotonic() + self._pause_s
        self._pause_s = min(_PAUSE_S_MAX, 2 * self._pause_s)
        if reason != self.trouble:
            _log.warning(catalogue.warning("ZKG-104", reason=reason))
        self.trouble = reason
