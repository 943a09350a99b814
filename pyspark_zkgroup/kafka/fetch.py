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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark_zkgroup.kafka import log_check, replicas
from pyspark_zkgroup.kafka.connection import Call, Cluster
from pyspark_zkgroup.kafka.leaders import NoLeader
from pyspark_zkgroup.kafka.log_check import Cut, Planned
from pyspark_zkgroup.kafka.losses import Lost
from pyspark_zkgroup.kafka.open_ranges import OpenRange, OpenRanges
from pyspark_zkgroup.kafka.outcome import Again, Read, judge
from pyspark_zkgroup.kafka.wire import (
    BrokerError,
    FetchedPartition,
    fetch_answer,
    fetch_request,
)
from pyspark_zkgroup.model import AbortedTransaction, Mark, OffsetRange, TopicPartition

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
    opened = OpenRanges(cluster, ranges, marks or {})
    reading = Reading(cluster, opened)
    try:
        while opened.in_order:
            found = reading.step()
            # What the reader does with the records is not a delay of the brokers.
            handed_over = cluster.clock.monotonic()
            yield from found
            opened.elsewhere_s += cluster.clock.monotonic() - handed_over
    finally:
        # A task that is killed here leaves nothing on a connection for the next one to wait behind.
        reading.abandon()


class Reading:
    """The requests under way to the leaders of `ranges`: one to each leader."""

    def __init__(self, cluster: Cluster, ranges: OpenRanges) -> None:
        self._ranges = ranges
        self._cluster = cluster
        self._settings = cluster.settings
        self._calls: dict[Call, list[OpenRange]] = {}

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
        self._ranges.after_answer({raw.partition for raw in found})
        self._ask()
        return found

    def abandon(self) -> None:
        if self._calls:
            self._cluster.abandon(self._calls)

    def _ask(self) -> None:
        """One request to each leader that has none, for what is due of it."""
        now = self._ranges.now()
        due = [r for r in self._ranges.in_order if not r.is_asked and r.not_before <= now]
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

    def _bytes_of_one(self, asked: Sequence[OpenRange]) -> int:
        sizes, bytes_max = self._cluster.sizes, self._settings.fetch_bytes_max
        return max(sizes.bytes_for(r.partition, r.until - r.position, bytes_max) for r in asked)

    def _next_call(self) -> Call | None:
        """The first that is answered; None when time has brought something to ask for instead."""
        now = self._ranges.now()
        idle = [r for r in self._ranges.in_order if not r.is_asked]
        later = [r.not_before - now for r in idle if r.not_before > now]
        if not self._calls:
            if later:
                self._cluster.wait(min(later))
            return None
        timeout_s = min([self._settings.request_timeout_ms / 1000, *later])
        return self._cluster.first(list(self._calls), timeout_s=timeout_s)

    def _by_leader(
        self, due: Sequence[OpenRange]
    ) -> tuple[dict[int, list[OpenRange]], dict[TopicPartition, int]]:
        """Also in which epoch each leads."""
        timeout_s = max(0.1, min(self._ranges.patience_s(r) for r in due))
        found = replicas.find(self._cluster, [r.partition for r in due], timeout_s=timeout_s)
        led = {tp: leader for tp, leader in found.items() if not isinstance(leader, NoLeader)}
        planned = {r.partition: Planned(r.mark, r.until, r.checked) for r in due}
        verdicts = log_check.examine(self._cluster, led, planned, timeout_s=timeout_s)
        by_leader: dict[int, list[OpenRange]] = {}
        for r in due:
            leader = found[r.partition]
            if isinstance(leader, NoLeader):
                if leader.refusal is not None:
                    raise leader.refusal
                self._ranges.postpone(r, Again(leader.reason, is_gone=not leader.exists))
                continue
            verdict = verdicts[r.partition]
            if isinstance(verdict, Again):
                self._ranges.act(r, verdict)
                continue
            r.checked = leader.mark.epoch
            r.is_whole = isinstance(verdict, Cut) or verdict.is_certain
            if isinstance(verdict, Cut):
                self._ranges.cut(r, verdict)
            if r.position < r.until:
                by_leader.setdefault(leader.node, []).append(r)
        return by_leader, {tp: leader.mark.epoch for tp, leader in led.items()}

    def _take(
        self, asked: Sequence[OpenRange], answer: Lost | BrokerError | list[FetchedPartition]
    ) -> Iterator[RawRecords]:
        if isinstance(answer, Lost | BrokerError):
            self._without_answer(asked, answer)
            return
        if not answer:
            # Sent at once to a client that has used up its quota; the connection is paused now.
            for r in asked:
                self._ranges.postpone(r, Again("its leader throttles this client"))
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
            self._ranges.act(r, outcome)

    def _without_answer(self, asked: Sequence[OpenRange], answer: Lost | BrokerError) -> None:
        reason = answer.reason if isinstance(answer, Lost) else str(answer)
        has_moved = answer.was_sent if isinstance(answer, Lost) else True
        if isinstance(answer, Lost) and answer.refusal is not None:
            raise answer.refusal
        for r in asked:
            if not answer.retryable:
                raise self._ranges.error(r, reason)
            why = Again(f"its leader gave no answer: {reason}", leader_moved=has_moved)
            self._ranges.act(r, why)
