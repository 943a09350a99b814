"""Raw records of a task's ranges: whole batches as the broker keeps them, each once, up to `until`
and no further.

A range ends at `until` whether or not a record stands just before it: what stood there may have
been compacted away, or be the marker of a transaction. Whatever may pass (a leader that moves, a
broker that restarts, throttling, a log that is a little behind) is asked again with back-off, until
a partition has made no progress for `deadline_s`. What will not pass is an error at once. Nothing
is ever skipped in silence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pyspark_zkgroup.backoff import delays
from pyspark_zkgroup.errors import FetchError, OffsetOutOfRangeError, ServerError
from pyspark_zkgroup.kafka import leaders, offsets
from pyspark_zkgroup.kafka.connection import Cluster, Lost
from pyspark_zkgroup.kafka.leaders import NoLeader
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
from pyspark_zkgroup.model import OffsetRange, TopicPartition

_ANEW = (
    "Set the group's offset to one that exists, and start the query with a new checkpointLocation"
)
_LOOK_UP_S = 10.0
_RESPONSE_BYTES_MIN = 1024 * 1024


@dataclass(frozen=True, slots=True)
class RawRecords:
    """Whole record batches of one partition. Those at the edges may hold more than `wanted`."""

    partition: TopicPartition
    wanted: OffsetRange
    data: memoryview


def read_ranges(
    cluster: Cluster, ranges: Mapping[TopicPartition, OffsetRange], *, rng: Random | None = None
) -> Iterator[RawRecords]:
    """The records of one partition come in order; partitions take turns."""
    reading = _Reading(cluster, ranges, rng or Random())
    while reading.open:
        found = reading.step()
        # What the reader does with the records is not a delay of the brokers.
        handed_over = cluster.clock.monotonic()
        yield from found
        reading.elsewhere_s += cluster.clock.monotonic() - handed_over


@dataclass(slots=True, eq=False)
class _Range:
    partition: TopicPartition
    position: int
    until: int
    waits: Iterator[float]
    not_before: float = 0.0
    stuck_since: float | None = None
    stuck: Again | None = None


class _Reading:
    """`open` holds the ranges that are not read to their end, in the order in which they are asked
    for.
    """

    def __init__(
        self, cluster: Cluster, ranges: Mapping[TopicPartition, OffsetRange], rng: Random
    ) -> None:
        self.elsewhere_s = 0.0
        self._cluster = cluster
        self._settings = cluster.settings
        self._rng = rng
        self.open = [
            _Range(tp, r.start, r.until, delays(rng)) for tp, r in sorted(ranges.items()) if len(r)
        ]

    def step(self) -> list[RawRecords]:
        """One request to each leader, for what is due; or a wait, when nothing is."""
        now = self._now()
        due = [r for r in self.open if r.not_before <= now]
        if not due:
            self._cluster.wait(min(r.not_before for r in self.open) - now)
            return []
        by_leader = self._by_leader(due)
        found = [
            raw
            for node, answer in self._ask(by_leader).items()
            for raw in self._take(by_leader[node], answer)
        ]
        served = {raw.partition for raw in found}
        self.open = sorted(
            (r for r in self.open if r.position < r.until), key=lambda r: r.partition in served
        )
        for r in self.open:
            self._check_patience(r)
        return found

    def _by_leader(self, due: Sequence[_Range]) -> dict[int, list[_Range]]:
        timeout_s = max(0.1, min(self._patience_s(r) for r in due))
        led = leaders.find(self._cluster, [r.partition for r in due], timeout_s=timeout_s)
        by_leader: dict[int, list[_Range]] = {}
        for r in due:
            leader = led[r.partition]
            if isinstance(leader, NoLeader):
                self._postpone(r, Again(leader.reason))
            else:
                by_leader.setdefault(leader, []).append(r)
        return by_leader

    def _ask(
        self, by_leader: Mapping[int, Sequence[_Range]]
    ) -> dict[int, Lost | BrokerError | list[FetchedPartition]]:
        if not by_leader:
            return {}
        # All answers of a step are in memory at once.
        share = max(_RESPONSE_BYTES_MIN, self._settings.response_bytes_max // len(by_leader))
        requests = {
            node: fetch_request(
                [(r.partition, r.position) for r in asked],
                partition_bytes_max=self._settings.fetch_bytes_max,
                bytes_max=share,
                wait_max_ms=self._settings.fetch_wait_max_ms,
            )
            for node, asked in by_leader.items()
        }
        timeout_s = self._settings.request_timeout_ms / 1000
        answers = self._cluster.ask_each(requests, timeout_s=timeout_s)
        return {
            node: answer if isinstance(answer, Lost) else fetch_answer(answer)
            for node, answer in answers.items()
        }

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
            outcome = judge(
                fetched, position=r.position, until=r.until, is_served_first=is_served_first
            )
            if fetched is not None and fetched.records:
                is_served_first = False
            if isinstance(outcome, Read) and outcome.size > 0 and fetched is not None:
                wanted = OffsetRange(r.position, min(outcome.next_offset, r.until))
                yield RawRecords(r.partition, wanted, memoryview(fetched.records)[: outcome.size])
            self._act(r, outcome)

    def _without_answer(self, asked: Sequence[_Range], answer: Lost | BrokerError) -> None:
        reason = answer.reason if isinstance(answer, Lost) else str(answer)
        has_moved = answer.was_sent if isinstance(answer, Lost) else True
        for r in asked:
            if not answer.retryable:
                raise self._error(r, reason)
            self._act(r, Again(f"its leader gave no answer: {reason}", leader_moved=has_moved))

    def _act(self, r: _Range, outcome: Outcome) -> None:
        match outcome:
            case Read(next_offset=next_offset):
                self._advance(r, next_offset)
            case NothingLeft():
                self._end_without_records(r)
            case TakesTurn():
                r.stuck = r.stuck_since = None
            case Again():
                if outcome.leader_moved:
                    leaders.forget(self._cluster, [r.partition])
                self._postpone(r, outcome)
            case OutOfRange():
                self._out_of_range(r)
            case Failed(reason=reason):
                raise self._error(r, reason)

    def _advance(self, r: _Range, position: int) -> None:
        r.position = position
        r.stuck = r.stuck_since = None
        r.waits = delays(self._rng)

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
        start, end = self._look_up(r, EARLIEST), self._look_up(r, LATEST)
        leaders.forget(self._cluster, [r.partition])
        if isinstance(start, Missing) or isinstance(end, Missing):
            self._postpone(r, Again("its leader says out of range, and then nothing more"))
        elif r.position < start:
            tp = r.partition
            raise OffsetOutOfRangeError(
                f"Offset {r.position} of {tp} is no longer there: the log holds [{start}, {end}), "
                f"and the range to read ends at {r.until}",
                f"The records were deleted (retention, or by hand) before they were read. {_ANEW}",
                topic=tp.topic,
                partition=tp.partition,
                offset=r.position,
            )
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
        if r.stuck is None or self._patience_s(r) > 0:
            return
        waited = f"for {self._settings.deadline_s:g} s"
        if r.stuck.log_end is None:
            raise self._error(r, f"{r.stuck.reason}, {waited}")
        tp = r.partition
        raise FetchError(
            f"{tp} cannot be read from offset {r.position} up to {r.until}: its log ends at "
            f"{r.stuck.log_end}, {waited}",
            "The log was cut, or the topic was deleted and made again, after this range was "
            f"planned. {_ANEW}",
            topic=tp.topic,
            partition=tp.partition,
            offset=r.position,
        )

    def _error(self, r: _Range, reason: str) -> FetchError:
        tp = r.partition
        return FetchError(
            f"{tp} cannot be read from offset {r.position} up to {r.until}: {reason}",
            "Check that the topic still exists, that its brokers run and that this client may read "
            "it. The task can be tried again: it will read the same records",
            topic=tp.topic,
            partition=tp.partition,
            offset=r.position,
        )

    def _patience_s(self, r: _Range) -> float:
        since = self._now() if r.stuck_since is None else r.stuck_since
        return self._settings.deadline_s - (self._now() - since)

    def _now(self) -> float:
        return self._cluster.clock.monotonic() - self.elsewhere_s
