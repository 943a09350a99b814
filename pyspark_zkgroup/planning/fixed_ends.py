"""The ends that an available-now job reads up to: those of its first look, minus what was lost.

Such a job ends when nothing is left before these ends. A partition that cannot be read any more
looks the same, so the job may end only once the reason is known. A log that was cut, or whose topic
was recreated, ends too early: the missing records are a loss, after some time in which a newly
elected leader may learn how far the log is committed. A partition whose end no broker returns may
be deleted, which is a loss, or its leader is away, and the job waits for it.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.gaps import Gap

_DOUBTED_S = 5.0
# As long as Kafka's own clients wait for an answer by default.
_SILENT_MAX_S = 60.0
_NAMED_MAX = 10
_log = logging.getLogger("pyspark_zkgroup.planner")

Offsets = Mapping[TopicPartition, int]


class FixedEnds:
    def __init__(
        self, brokers: Brokers, clock: Clock, partitions: Collection[TopicPartition]
    ) -> None:
        """`partitions` are all that exist now, whichever member reads them; later ones belong to a
        later job.
        """
        self.brokers = brokers
        self.clock = clock
        self._ends = dict(brokers.latest(partitions))
        self._unanswered = set(partitions) - self._ends.keys()
        self._short_since: dict[TopicPartition, float] = {}
        self._silent_since: dict[TopicPartition, float] = {}

    @property
    def unsure(self) -> bool:
        """Return whether something that was to be read cannot be, for a reason not known yet."""
        return bool(self._short_since or self._silent_since)

    def within(self, starts: Offsets, latest: Offsets) -> dict[TopicPartition, int]:
        """Return how far each partition may be read now.

        A log that ends too early is not read until the reason is known: records of a recreated
        topic would be taken for those of the old one.
        """
        ends = {p: at for p, at in self._ends.items() if p not in self._short_since}
        return {p: min(latest[p], ends.get(p, at)) for p, at in starts.items() if p in latest}

    def look(self, starts: Offsets, latest: Offsets) -> list[Gap]:
        """Return new certain losses, each once; ServerError if an end is unknown for too long."""
        now = self.clock.monotonic()
        for partition in self._unanswered & latest.keys():
            self._ends[partition] = latest[partition]
        self._unanswered -= latest.keys()
        ends = {p: self._ends[p] for p in starts if starts[p] < self._ends.get(p, starts[p])}
        short = {p for p, end in ends.items() if starts[p] <= latest.get(p, -1) < end}
        silent = {p for p in (*ends, *self._unanswered) if p in starts and p not in latest}
        self._doubt(short, ends, latest, now)
        self._silent_since = {p: self._silent_since.get(p, now) for p in silent}
        cut = [p for p in sorted(short) if now - self._short_since[p] >= _DOUBTED_S]
        found = [Gap(p, "cut", latest[p], latest[p], ends[p]) for p in cut]
        found += [
            Gap(p, "deleted", starts[p], starts[p], ends[p]) for p in self._gone(now) if p in ends
        ]
        self.told(found)
        self._check_silence(now)
        return found

    def told(self, found: Iterable[Gap]) -> None:
        """Take note of reported losses: the job no longer waits for what they name."""
        for gap in found:
            partition = gap.partition
            if gap.kind == "passed" or partition not in self._ends:
                continue
            left = gap.end if gap.kind in ("beyond", "truncated", "recreated") else gap.start
            self._ends[partition] = min(self._ends[partition], left)
            self._short_since.pop(partition, None)
            self._silent_since.pop(partition, None)

    def _doubt(
        self, short: Collection[TopicPartition], ends: Offsets, latest: Offsets, now: float
    ) -> None:
        for partition in sorted(short):
            if partition not in self._short_since:
                _log.warning(
                    catalogue.warning(
                        "ZKG-146",
                        partition=partition,
                        end=latest[partition],
                        expected=ends[partition],
                        wait_s=_DOUBTED_S,
                    )
                )
        self._short_since = {p: self._short_since.get(p, now) for p in short}

    def _gone(self, now: float) -> list[TopicPartition]:
        """Return the partitions that the cluster does not have, of those whose end is unknown."""
        asked = [p for p, at in sorted(self._silent_since.items()) if now - at >= _DOUBTED_S]
        if not asked:
            return []
        try:
            lacking = self.brokers.lacks(dict.fromkeys(asked, ""))
        except ServerError as error:
            _log.warning(catalogue.warning("ZKG-147", count=len(asked), error=error))
            return []
        gone = [p for p in asked if lacking.get(p)]
        for partition in gone:
            self._unanswered.discard(partition)
            self._silent_since.pop(partition)
        return gone

    def _check_silence(self, now: float) -> None:
        late = [p for p, at in sorted(self._silent_since.items()) if now - at >= _SILENT_MAX_S]
        if not late:
            return
        more = len(late) - _NAMED_MAX
        named = ", ".join(map(str, late[:_NAMED_MAX])) + (f" and {more} more" if more > 0 else "")
        raise ServerError.of("log_ends_unknown", silent_s=_SILENT_MAX_S, partitions=named)
