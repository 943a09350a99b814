"""The pings of one stream at the coordinator: when the next is due, and what it acknowledges."""

from __future__ import annotations

from pyspark_zkgroup.protocols.light.rules.lease import beat_every_s
from pyspark_zkgroup.protocols.light.rules.messages import Ping, Pong


class Beat:
    def __init__(self, timeout_s: float) -> None:
        self._every_s = beat_every_s(timeout_s)
        self._next_at = float("-inf")
        self._pings = self._pongs = 0

    def due(self, now: float) -> Ping | None:
        if now < self._next_at:
            return None
        self._next_at = now + self._every_s
        self._pings += 1
        return Ping(self._pings, self._pongs)

    def heard(self, pong: Pong) -> None:
        self._pongs = max(self._pongs, pong.number)
