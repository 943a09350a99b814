"""Decides how far the next batch reads, and gets the values that this decision needs.

`minOffsetsPerTrigger` counts the partitions that this member holds, and the delay is this member's.
The records of a partition that moves meanwhile were not read here: they count at the new owner.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import Sample, TopicPartition
from pyspark_zkgroup.options.batch_size import BatchLimits
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.limits import backlog, is_held_back, share, share_bytes

# Each request returns the sample of one partition at least. Several are sent only if many
# partitions have none yet.
_ROUNDS_MAX = 10
_log = logging.getLogger("pyspark_zkgroup.planner")

Offsets = Mapping[TopicPartition, int]


class BatchSize:
    def __init__(self, limits: BatchLimits, brokers: Brokers, clock: Clock) -> None:
        self.limits = limits
        self.brokers = brokers
        self.clock = clock
        self._last_at: float | None = None
        self._before: float | None = None
        self._said = False
        # Oldest first: the first of a request is sure to be answered, so these come first next
        # time.
        self._samples: dict[TopicPartition, Sample] = {}

    def planned(self) -> None:
        self._before, self._last_at = self._last_at, self.clock.monotonic()
        self._said = False

    def not_taken(self) -> None:
        """Spark did not take the last plan, so the next plan replaces it."""
        self._last_at = self._before

    def holds_back(self, starts: Offsets, latest: Offsets) -> bool:
        if self.limits.offsets_min is None:
            return False
        offsets = sum(backlog(starts, latest).values())
        since_last_s = None if self._last_at is None else self.clock.monotonic() - self._last_at
        held_back = is_held_back(
            offsets,
            self.limits.offsets_min,
            since_last_s=since_last_s,
            delay_max_s=self.limits.delay_max_ms / 1000,
        )
        if held_back and offsets and not self._said:
            self._said = True
            _log.info(
                "Delaying the batch until %s offsets can be read (minOffsetsPerTrigger; %d now), "
                "or until %g s after the last batch (maxTriggerDelay)",
                self.limits.offsets_min,
                offsets,
                self.limits.delay_max_ms / 1000,
            )
        return held_back

    def until(self, starts: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
        """Return the ends within both limits, that of offsets and that of bytes."""
        until = share(self.limits.offsets_max, starts, latest)
        if self.limits.bytes_max is None:
            return until
        self._samples = {p: sample for p, sample in self._samples.items() if p in starts}
        self._look({p: at for p, at in starts.items() if until[p] > at})
        return share_bytes(self.limits.bytes_max, starts, until, self._samples)

    def _look(self, positions: Offsets) -> None:
        """Take a sample where there is something to read; keep the old one if none arrives now."""
        never = [p for p in positions if p not in self._samples]
        asked = {p: positions[p] for p in (*never, *self._samples) if p in positions}
        for _ in range(_ROUNDS_MAX):
            if not asked:
                return
            try:
                found = self.brokers.samples(asked)
            except ServerError as error:
                _log.warning(catalogue.warning("ZKG-107", error=error))
                return
            for partition, sample in found.items():
                self._samples.pop(partition, None)
                self._samples[partition] = sample
            if not found:
                return
            asked = {p: at for p, at in asked.items() if p not in self._samples}
