"""The lease of a light member: until when it may plan, by what its coordinator has acknowledged."""

from __future__ import annotations

from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.protocols.light.rules.lease import member_may_plan_until
from pyspark_zkgroup.protocols.light.rules.messages import Ping, Pong


class Lease:
    """`proved_at` is when the newest message was sent that the coordinator has acknowledged."""

    def __init__(self, clock: EventClock, timeout_s: float) -> None:
        self.clock = clock
        self.timeout_s = timeout_s
        self.proved_at = float("-inf")
        self._pongs: dict[int, float] = {}

    def left_s(self) -> float:
        return member_may_plan_until(self.proved_at, self.timeout_s) - self.clock.monotonic()

    def prove(self, sent_at: float) -> None:
        self.proved_at = max(self.proved_at, sent_at)

    def begin_stream(self) -> None:
        """The coordinator counts the pongs of each stream from the beginning."""
        self._pongs.clear()

    def answer(self, ping: Ping) -> Pong:
        sent_at = self._pongs.get(ping.heard)
        if sent_at is not None:
            self.prove(sent_at)
        self._pongs = {n: at for n, at in self._pongs.items() if n > ping.heard}
        self._pongs[ping.number] = self.clock.monotonic()
        return Pong(ping.number)
