"""Raw records of a task's ranges: whole batches as the broker keeps them, each once, up to `until`
and no further.

A range ends at `until` whether or not a record stands just before it: what stood there may have
been compacted away, or be the marker of a transaction. Whatever may pass (a leader that moves, a
broker that restarts, throttling, a log that is a little behind) is asked again with back-off, until
a partition has made no progress for `deadline_s`. What will not pass is an error at once. Records
that are gone are one too, or a warning, as `fail_on_data_loss` says. Nothing is ever skipped in
silence.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import FetchError, ServerError
from pyspark_zkgroup.kafka import access, fetch_errors, log_check, offsets, replicas
from pyspark_zkgroup.kafka.connection import Call, Cluster, Lost
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.kafka.log_check import Cut, Planned
from pyspark_zkgroup.kafka.offsets import Missing
from pyspark_zkgroup.kafka.outcome import (
    Again,
    Failed,
    NothingLeft,
    Outcome,
    OutOfRange,
    Read,
    TakesTurn,
    judge,
)
from pyspark_zkgroup.kafka.wire import (
    EARLIEST,
    EARLIEST_LOCAL,
    LATEST,
    BrokerError,
    FetchedPartition,
    fetch_answer,
    fetch_request,
)
from pyspark_zkgroup.model import NO_MARK, AbortedTransaction, Mark, OffsetRange, TopicPartition

_log = logging.getLogger("pyspark_zkgroup.kafka")

_LOOK_UP_S = 10.0
# All brokers have heard of a topic long before; one that has just restarted may not have.
_GONE_S = 30.0
_RESPONSE_BYTES_MIN = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RawRecords:
    """Whole record batches of one partition. Those at the edges may hold more than `wanted`."""

    partition: TopicPartition
    wanted: OffsetRange
    data: memoryview
    aborted: tuple[AbortedTransaction, ...] = ()
    """Of those that reach into `data`; only asked for under read_committed."""


def read_ranges(
    cluster: Cluster,
    ranges: Mapping[TopicPartition, OffsetRange],
    marks: Mapping[TopicPartition, Mark] | None = None,
) -> Iterator[RawRecords]:
    """The records of one partition come in order; partitions take turns. `marks`: of which logs
    these ranges are, where that is known.

    While they are handed over, the next request to their leader is under way. So there are, at
    most: `response_bytes_max` on the way from all leaders, and as much handed over.
    """
    reading = _Reading(cluster, ranges, marks or {})
    try:
        while reading.open:
            found = reading.step()
            # What the reader does with the records is not a delay of the brokers.
            handed_over = cluster.clock.monotonic()
            yield from found
            reading.elsewhere_s += cluster.clock.monotonic() - handed_over
    finally:
        # A task that is killed here leaves nothing on a connection for the next one to wait behind.
        reading.abandon()


@dataclass(slots=True, eq=False)
class _Range:
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


class _Reading:
    """`open` holds the ranges that are not read to their end, in the order of the requests."""

    def __init__(
        self,
        cluster: Cluster,
        ranges: Mapping[TopicPartition, OffsetRange],
        marks: Mapping[TopicPartition, Mark],
    ) -> None:
        self.elsewhere_s = 0.0
        self._cluster = cluster
        self._settings = cluster.settings
        self._lost = 0
        self._calls: dict[Call, list[_Range]] = {}
        self.open = [
            _Range(tp, r.start, r.until, cluster.pauses(), mark=marks.get(tp, NO_MARK))
            for tp, r in sorted(ranges.items())
            if len(r)
        ]
        for r in self.open:
            cluster.leaders.expect(r.partition, r.mark)

    def step(self) -> list[RawRecords]:
        """The next answer, from whatever leader; the request after it is already sent."""
        self._ask()
        call = self._next_call()
        found: list[RawRecords] = []
        if call is not None:
            asked = self._calls.pop(call)
            for r in asked:
                r.is_asked = False
            answer = call.answer
            if not isinstance(answer, Lost):
                answer = fetch_answer(answer, self._settings.isolation)
            found += self._take(asked, answer)
        for r in self.open:
            self._check_patience(r)
        served = {raw.partition for raw in found}
        self.open = sorted(
            (r for r in self.open if r.position < r.until), key=lambda r: r.partition in served
        )
        self._ask()
        return found

    def abandon(self) -> None:
        if self._calls:
            self._cluster.abandon(self._calls)

    def _ask(self) -> None:
        """One request to each leader that has none, for what is due of it."""
        now = self._now()
        due = [r for r in self.open if not r.is_asked and r.not_before <= now]
        if not due:
            return
        by_leader, epochs = self._by_leader(due)
        busy = {call.node for call in self._calls}
        # The answers of all leaders may be in memory at once.
        share = self._settings.response_bytes_max // max(1, len(busy | by_leader.keys()))
        for node in by_leader.keys() - busy:
            request = fetch_request(
                [(r.partition, r.position) for r in by_leader[node]],
                partition_bytes_max=self._bytes_of_one(by_leader[node]),
                bytes_max=max(_RESPONSE_BYTES_MIN, share),
                wait_max_ms=self._settings.fetch_wait_max_ms,
                isolation=self._settings.isolation,
                rack=self._settings.client.rack,
                epochs=epochs,
            )
            timeout_s = self._settings.request_timeout_ms / 1000
            self._calls[self._cluster.start(node, request, timeout_s=timeout_s)] = by_leader[node]
            for r in by_leader[node]:
                r.is_asked = True

    def _bytes_of_one(self, asked: Sequence[_Range]) -> int:
        sizes, bytes_max = self._cluster.sizes, self._settings.fetch_bytes_max
        return max(sizes.bytes_for(r.partition, r.until - r.position, bytes_max) for r in asked)

    def _next_call(self) -> Call | None:
        """The first that is answered; None when time has brought something to ask for instead."""
        now = self._now()
        later = [r.not_before - now for r in self.open if not r.is_asked and r.not_before > now]
        if not self._calls:
            if later:
                self._cluster.wait(min(later))
            return None
        timeout_s = min([self._settings.request_timeout_ms / 1000, *later])
        return self._cluster.first(list(self._calls), timeout_s=timeout_s)

    def _by_leader(
        self, due: Sequence[_Range]
    ) -> tuple[dict[int, list[_Range]], dict[TopicPartition, int]]:
        """Also in which epoch each leads."""
        timeout_s = max(0.1, min(self._patience_s(r) for r in due))
        found = replicas.find(self._cluster, [r.partition for r in due], timeout_s=timeout_s)
        led = {tp: leader for tp, leader in found.items() if not isinstance(leader, NoLeader)}
        planned = {r.partition: Planned(r.mark, r.until, r.checked) for r in due}
        verdicts = log_check.examine(self._cluster, led, planned, timeout_s=timeout_s)
        by_leader: dict[int, list[_Range]] = {}
        for r in due:
            leader = found[r.partition]
            if isinstance(leader, NoLeader):
                if leader.refusal is not None:
                    raise leader.refusal
                self._postpone(r, Again(leader.reason, is_gone=not leader.exists))
                continue
            verdict = verdicts[r.partition]
            if isinstance(verdict, Again):
                self._act(r, verdict)
                continue
            r.checked = leader.mark.epoch
            r.is_whole = isinstance(verdict, Cut) or verdict.is_certain
            if isinstance(verdict, Cut):
                self._cut(r, verdict)
            if r.position < r.until:
                by_leader.setdefault(leader.node, []).append(r)
        return by_leader, {tp: leader.mark.epoch for tp, leader in led.items()}

    def _take(
        self, asked: Sequence[_Range], answer: Lost | BrokerError | list[FetchedPartition]
    ) -> Iterator[RawRecords]:
        if isinstance(answer, Lost | BrokerError):
            self._without_answer(asked, answer)
            return
        if not answer:
            # Sent at once to a client that has used up its quota; the connection is paused now.
            for r in asked:
                self._postpone(r, Again("its leader throttles this client"))
            return
        by_partition = {fetched.partition: fetched for fetched in answer}
        is_served_first = True
        for r in asked:
            fetched = by_partition.get(r.partition)
            if fetched is not None and fetched.near_replica is not None:
                replicas.prefer(self._cluster, r.partition, fetched.near_replica)
                continue
            outcome = judge(
                fetched, position=r.position, until=r.until, is_served_first=is_served_first
            )
            if fetched is not None and len(fetched.records):
                is_served_first = False
            if isinstance(outcome, Read) and outcome.size > 0 and fetched is not None:
                wanted = OffsetRange(r.position, min(outcome.next_offset, r.until))
                data = fetched.records[: outcome.size]
                yield RawRecords(r.partition, wanted, data, fetched.aborted)
            self._act(r, outcome)

    def _without_answer(self, asked: Sequence[_Range], answer: Lost | BrokerError) -> None:
        reason = answer.reason if isinstance(answer, Lost) else str(answer)
        has_moved = answer.was_sent if isinstance(answer, Lost) else True
        if isinstance(answer, Lost) and answer.refusal is not None:
            raise answer.refusal
        for r in asked:
            if not answer.retryable:
                raise self._error(r, reason)
            self._act(r, Again(f"its leader gave no answer: {reason}", leader_moved=has_moved))

    def _act(self, r: _Range, outcome: Outcome) -> None:
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
                self._postpone(r, outcome)
            case OutOfRange():
                self._out_of_range(r)
            case Failed(may_not_read=True):
                security = self._settings.security
                raise access.topic_refused(security, r.partition.topic, "Read")
            case Failed(reason=reason):
                raise self._error(r, reason)

    def _advance(self, r: _Range, position: int) -> None:
        r.position = position
        r.stuck = r.stuck_since = None
        r.waits = self._cluster.pauses()

    def _postpone(self, r: _Range, why: Again) -> None:
        now = self._now()
        if r.stuck_since is None:
            r.stuck_since = now
        r.stuck = why
        r.not_before = now + next(r.waits)

    def _end_without_records(self, r: _Range) -> None:
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
                self._postpone(r, Again(local.reason))
        elif r.position < local:
            self._postpone(r, Again("its leader has not brought it from remote storage yet"))
        else:
            self._advance(r, r.until)

    def _out_of_range(self, r: _Range) -> None:
        if replicas.is_preferred(self._cluster, r.partition):
            # It may be behind its leader, who alone can say what is gone.
            replicas.forget(self._cluster, [r.partition])
            self._postpone(r, Again("a replica that is not its leader says out of range"))
            return
        start, end = self._look_up(r, EARLIEST), self._look_up(r, LATEST)
        replicas.forget(self._cluster, [r.partition])
        if isinstance(start, Missing) or isinstance(end, Missing):
            self._postpone(r, Again("its leader says out of range, and then nothing more"))
        elif r.position < start and not self._settings.fail_on_data_loss:
            self._lose(r, min(start, r.until), f"its log begins at {start}")
        elif r.position < start:
            raise fetch_errors.deleted(r.partition, OffsetRange(r.position, r.until), start, end)
        else:
            # A follower that has just become the leader may be a moment behind.
            self._postpone(r, Again(f"its log ends at {end}, before that offset", log_end=end))

    def _look_up(self, r: _Range, at: int) -> int | Missing:
        timeout_s = min(_LOOK_UP_S, self._settings.request_timeout_ms / 1000)
        try:
            looked_up = offsets.look_up(self._cluster, [r.partition], at, timeout_s=timeout_s)
        except ServerError as error:
            return Missing(error.what, lasting=False)
        if r.partition in looked_up.found:
            return looked_up.found[r.partition]
        return looked_up.missing[r.partition]

    def _check_patience(self, r: _Range) -> None:
        if r.stuck is None or r.is_asked or self._patience_s(r) > 0:
            return
        waited = f"for {self._patience_max_s(r):g} s"
        may_lose = not self._settings.fail_on_data_loss
        if may_lose and r.stuck.is_gone:
            self._lose(r, r.until, f"{r.stuck.reason}, {waited}")
            return
        if r.stuck.log_end is None or (may_lose and r.is_whole):
            # Records that are there are never skipped.
            raise self._error(r, f"{r.stuck.reason}, {waited}")
        if may_lose:
            self._lose(r, r.until, f"its log ends at {r.stuck.log_end}, {waited}")
            return
        ended = f"{r.stuck.log_end}, {waited}"
        raise fetch_errors.ends_early(r.partition, OffsetRange(r.position, r.until), ended)

    def _cut(self, r: _Range, cut: Cut) -> None:
        """What is left of the range is still read. What has taken the place of the rest is for the
        planner, which finds out as well, and goes back to it.
        """
        lost = OffsetRange(max(r.position, cut.end), r.until)
        if self._settings.fail_on_data_loss:
            raise fetch_errors.cut(r.partition, lost, cut.end, cut.reason)
        self._warn(r, lost, cut.reason)
        r.until = lost.start

    def _lose(self, r: _Range, until: int, reason: str) -> None:
        """Continue behind records that are gone, with failOnDataLoss=false."""
        self._warn(r, OffsetRange(r.position, until), reason)
        self._advance(r, until)

    def _warn(self, r: _Range, lost: OffsetRange, reason: str) -> None:
        self._lost += len(lost)
        _log.warning(
            catalogue.warning(
                "ZKG-142", partition=r.partition, offsets=lost, reason=reason, total=self._lost
            )
        )

    def _error(self, r: _Range, reason: str) -> FetchError:
        return fetch_errors.unreadable(r.partition, OffsetRange(r.position, r.until), reason)

    def _patience_s(self, r: _Range) -> float:
        since = self._now() if r.stuck_since is None else r.stuck_since
        return self._patience_max_s(r) - (self._now() - since)

    def _patience_max_s(self, r: _Range) -> float:
        may_lose = not self._settings.fail_on_data_loss and r.stuck is not None and r.stuck.is_gone
        return min(self._settings.deadline_s, _GONE_S) if may_lose else self._settings.deadline_s

    def _now(self) -> float:
        return self._cluster.clock.monotonic() - self.elsewhere_s
