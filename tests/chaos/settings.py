"""The size of a chaos run. All of it fits on two cores: see the heaps."""

from __future__ import annotations

import math
from dataclasses import dataclass

GROUP, TOPIC = "chaos", "events"
ZOOKEEPER_HEAP_MB, BROKER_HEAP_MB = 64, 320
# Forty faults in thirty minutes, twenty in fifteen.
FAULTS_PER_MINUTE = 4 / 3


@dataclass(frozen=True)
class Settings:
    """`faults`: at least so many are injected, however long it takes (see `minutes_max`); by
    default as many as the minutes ask for. `kinds`: only these. `overlapping`: the share of faults
    after which another one comes before the group has settled. `direct`: the members write with
    `delta.ingest`.
    """

    protocol: str = "zookeeper"
    minutes: float = 30.0
    seed: int = 1
    faults: int | None = None
    kinds: tuple[str, ...] = ()
    overlapping: float = 0.25
    direct: bool = False
    members: tuple[str, ...] = ("a", "b", "c")
    zookeepers: int = 3
    brokers: int = 3
    per_second: float = 1000.0
    session_s: float = 10.0
    coordinator_session_s: float = 4.0
    poll_interval_s: float = 30.0
    trigger_s: float = 2.0
    partitions: int = 6
    partitions_max: int = 12
    batch_rows_max: int = 20_000
    settle_s: float = 90.0
    drain_s: float = 300.0

    @property
    def faults_wanted(self) -> int:
        if self.faults is not None:
            return self.faults
        return math.ceil(self.minutes * FAULTS_PER_MINUTE)

    @property
    def minutes_max(self) -> float:
        """A machine that is too slow for that many faults does not get more time."""
        return 1.5 * self.minutes + 3.0
