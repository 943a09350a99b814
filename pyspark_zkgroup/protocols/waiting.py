"""Tracks partitions that are assigned but not held: since when, why, and when to log it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.model import TopicPartition

# At an ordinary join the former owner releases at the end of its batch: no reason to warn.
PATIENCE_S = 10.0
_SAID_EVERY_S = 30.0
_SHOWN_MAX = 20
_log = logging.getLogger("pyspark_zkgroup.group")


class Waiting:
    def __init__(self, group: str, clock: Clock) -> None:
        self.group = group
        self._clock = clock
        self.reasons: dict[TopicPartition, str] = {}
        self._since: dict[TopicPartition, float] = {}
        self._said: frozenset[TopicPartition] = frozenset()
        self._said_at = float("-inf")

    def note(self, reasons: Mapping[TopicPartition, str]) -> None:
        now = self._clock.monotonic()
        self.reasons = dict(reasons)
        self._since = {p: self._since.get(p, now) for p in reasons}
        if self._said and not self._said & reasons.keys():
            _log.info("Group %s: no longer waiting for the partitions of ZKG-122", self.group)
        self._said &= reasons.keys()

    def shown(self) -> dict[str, str]:
        now = self._clock.monotonic()
        return {
            str(p): f"{reason}, for {now - self._since[p]:.0f} s"
            for p, reason in sorted(self.reasons.items())[:_SHOWN_MAX]
        }

    def say(self, held: int) -> None:
        """Warn of partitions that have been waited for too long: once, then every 30 s."""
        now = self._clock.monotonic()
        late = sorted(p for p, since in self._since.items() if now - since >= PATIENCE_S)
        is_new = not self._said.issuperset(late)
        if not late or not (is_new or now - self._said_at >= _SAID_EVERY_S):
            return
        self._said, self._said_at = frozenset(late), now
        _log.warning(
            catalogue.warning(
                "ZKG-122",
                count=len(self.reasons),
                group=self.group,
                partition=late[0],
                reason=self.reasons[late[0]],
                waited_s=now - self._since[late[0]],
                held=held,
            )
        )
