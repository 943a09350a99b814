"""The ranges of a task that are not read to their end, and what an answer does to each of them.

A range moves on, waits, is shortened, or ends the task with an error. Records that are gone are
counted.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import FetchError, ServerError
from pyspark_zkgroup.kafka import access, fetch_errors, offsets, replicas
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.log_check import Cut
from pyspark_zkgroup.kafka.offsets import Missing
from pyspark_zkgroup.kafka.outcome import (
    Again,
    Failed,
    NothingLeft,
    Outcome,
    OutOfRange,
    Read,
    TakesTurn,
)
from pyspark_zkgroup.kafka.wire import EARLIEST, EARLIEST_LOCAL, LATEST
from pyspark_zkgroup.model import NO_MARK, Mark, OffsetRange, TopicPartition

_log = logging.getLogger("pyspark_zkgroup.kafka")

_LOOK_UP_S = 10.0
# All brokers have heard of a topic long before; one that has just restarted may not have.
_GONE_S = 30.0


@dataclass(slots=True, eq=False)
class OpenRange:
    partition: TopicPartition
    position: int
    until: int
    waits: Iterator[float]
    not_before: float = 0.0
    stuck_since: float | None = None
    stuck: Again | None = None
    is_asked: bool = False
    """A request for it is under way, and no other is made."""
    mark: Mark = NO_MARK
    checked: int = -1
    is_whole: bool = False  # its leader holds all of it, however short its log seems

    @property
    def left(self) -> OffsetRange:
        return OffsetRange(self.position, self.until)


class OpenRanges:
    """`in_order` has them in the order of the requests."""

    def __init__(
        self,
        cluster: Cluster,
        ranges: Mapping[TopicPartition, OffsetRange],
        marks: Mapping[TopicPartition, Mark],
    ) -> None:
        self._cluster = cluster
        self._settings = cluster.settings
        self.elsewhere_s = 0.0
        self.lost_count = 0
        self.in_order = [
            OpenRange(tp, r.start, r.until, cluster.pauses(), mark=marks.get(tp, NO_MARK))
            for tp, r in sorted(ranges.items())
            if len(r)
        ]
        for r in self.in_order:
            cluster.leaders.expect(r.partition, r.mark)

    def after_answer(self, served: Collection[TopicPartition]) -> None:
        """Drop what is read to its end. What was served goes behind what was not."""
        for r in self.in_order:
            self._check_patience(r)
        self.in_order = sorted(
            (r for r in self.in_order if r.position < r.until),
            key=lambda r: r.partition in served,
        )

    def act(self, r: OpenRange, outcome: Outcome) -> None:
        match outcome:
            case Read(size=size, next_offset=next_offset):
                if size:
                    self._cluster.sizes.seen(r.partition, next_offset - r.position, size)
                self._advance(r, next_offset)
            case NothingLeft():
                self._end_without_records(r)
            case TakesTurn():
                self._cluster.sizes.too_little(r.partition, self._settings.fetch_bytes_max)
                r.stuck = r.stuck_since = None
            case Again():
                if outcome.leader_moved:
                    replicas.forget(self._cluster, [r.partition])
                self.postpone(r, outcome)
            case OutOfRange():
                self._out_of_range(r)
            case Failed(may_not_read=True):
                security = self._settings.security
                raise access.topic_refused(security, r.partition.topic, "Read")
            case Failed(reason=reason):
                raise self.error(r, reason)

    def _advance(self, r: OpenRange, position: int) -> None:
        r.position = position
        r.stuck = r.stuck_since = None
        r.waits = self._cluster.pauses()

    def postpone(self, r: OpenRange, why: Again) -> None:
        now = self.now()
        if r.stuck_since is None:
            r.stuck_since = now
        r.stuck = why
        r.not_before = now + next(r.waits)

    def _end_without_records(self, r: OpenRange) -> None:
        """Between the position and `until` there is nothing on the broker.

        It may still be in remote storage. A broker that does not get it from there in time answers
        without records and without an error, exactly as it does when everything was compacted away.
        """
        local = self._look_up(r, EARLIEST_LOCAL)
        if isinstance(local, Missing):
            # A broker that does not know the question keeps everything itself.
            if local.lasting:
                self._advance(r, r.until)
            else:
                self.postpone(r, Again(local.reason))
        elif r.position < local:
            self.postpone(r, Again("its leader has not brought it from remote storage yet"))
        else:
            self._advance(r, r.until)

    def _out_of_range(self, r: OpenRange) -> None:
        if replicas.is_preferred(self._cluster, r.partition):
            # It may be behind its leader, who alone can say what is gone.
            replicas.forget(self._cluster, [r.partition])
            self.postpone(r, Again("a replica that is not its leader says out of range"))
            return
        start, end = self._look_up(r, EARLIEST), self._look_up(r, LATEST)
        replicas.forget(self._cluster, [r.partition])
        if isinstance(start, Missing) or isinstance(end, Missing):
            self.postpone(r, Again("its leader says out of range, and then nothing more"))
        elif r.position < start and not self._settings.fail_on_data_loss:
            self._lose(r, min(start, r.until), f"its log begins at {start}")
        elif r.position < start:
            raise fetch_errors.deleted(r.partition, r.left, start, end)
        else:
            # A follower that has just become the leader may be a moment behind.
            self.postpone(r, Again(f"its log ends at {end}, before that offset", log_end=end))

    def _look_up(self, r: OpenRange, at: int) -> int | Missing:
        timeout_s = min(_LOOK_UP_S, self._settings.request_timeout_ms / 1000)
        try:
            looked_up = offsets.look_up(self._cluster, [r.partition], at, timeout_s=timeout_s)
        except ServerError as error:
            return Missing(error.what, lasting=False)
        if r.partition in looked_up.found:
            return looked_up.found[r.partition]
        return looked_up.missing[r.partition]

    def _check_patience(self, r: OpenRange) -> None:
        if r.stuck is None or r.is_asked or self.patience_s(r) > 0:
            return
        waited = f"for {self._patience_max_s(r):g} s"
        may_lose = not self._settings.fail_on_data_loss
        if may_lose and r.stuck.is_gone:
            self._lose(r, r.until, f"{r.stuck.reason}, {waited}")
            return
        if r.stuck.log_end is None or (may_lose and r.is_whole):
            # Records that are there are never skipped.
            raise self.error(r, f"{r.stuck.reason}, {waited}")
        if may_lose:
            self._lose(r, r.until, f"its log ends at {r.stuck.log_end}, {waited}")
            return
        ended = f"{r.stuck.log_end}, {waited}"
        raise fetch_errors.ends_early(r.partition, r.left, ended)

    def cut(self, r: OpenRange, cut: Cut) -> None:
        """What is left of the range is still read. What has taken the place of the rest is for the
        planner, which finds out as well, and goes back to it.
        """
        lost = OffsetRange(max(r.position, cut.end), r.until)
        if self._settings.fail_on_data_loss:
            raise fetch_errors.cut(r.partition, lost, cut.end, cut.reason)
        self._warn(r, lost, cut.reason)
        r.until = lost.start

    def _lose(self, r: OpenRange, until: int, reason: str) -> None:
        """Continue behind records that are gone, with failOnDataLoss=false."""
        self._warn(r, OffsetRange(r.position, until), reason)
        self._advance(r, until)

    def _warn(self, r: OpenRange, lost: OffsetRange, reason: str) -> None:
        self.lost_count += len(lost)
        _log.warning(
            catalogue.warning(
                "ZKG-142", partition=r.partition, offsets=lost, reason=reason, total=self.lost_count
            )
        )

    def error(self, r: OpenRange, reason: str) -> FetchError:
        return fetch_errors.unreadable(r.partition, r.left, reason)

    def patience_s(self, r: OpenRange) -> float:
        since = self.now() if r.stuck_since is None else r.stuck_since
        return self._patience_max_s(r) - (self.now() - since)

    def _patience_max_s(self, r: OpenRange) -> float:
        may_lose = not self._settings.fail_on_data_loss and r.stuck is not None and r.stuck.is_gone
        return min(self._settings.deadline_s, _GONE_S) if may_lose else self._settings.deadline_s

    def now(self) -> float:
        return self._cluster.clock.monotonic() - self.elsewhere_s
