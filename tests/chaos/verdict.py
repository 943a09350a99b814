"""From what a run has seen to its verdict. Pure, except for reading the plain logs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Protocol

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.duplicates import committed_at, united
from tests.chaos.values import FOREVER, Batch, Duplicate, Fault, Read, Span, Trigger, Unowned
from tests.spark.sink import Delivery
from zkgroup_sandbox.produce import Produced

# A session that has ended was last known to live so many of its timeouts before that was noticed.
NOTICED_LATE = 1.5
ENDED = re.compile(r"Session \S+ with .* expired with (\d+) partitions held")
# Where the driver was silent, the line that says so is followed by GAVE_UP.
LOST = re.compile(r"Lost the membership in group \S+: (?!the driver has not called)")
GAVE_UP = re.compile(r"gave up (\d+) partitions: Spark has not asked for a batch")
REBALANCED = re.compile(
    r"Rebalanced group \S+: claimed (\d+), released (\d+), lost (\d+)"
    r"|Joined group \S+ as .*, generation \d+"
)
# A query whose planner was killed fails when it next asks it, at the end of its batch.
DIES_WITHIN_S = 120.0
CUT_OFF = frozenset({"member cut off shortly", "member cut off beyond the session"})
# After one of these a run of a query begins no batch.
RUN_ENDS = frozenset({"died", "stopped", "ended", "gone"})


class PlainConsumer(Protocol):
    rows: list[tuple[str, int, int]]


@dataclass(frozen=True)
class Evidence:
    """What the judges have found; `failures` is empty only where all is as promised."""

    produced: int
    read: int
    missing: int
    missing_in_log: int
    duplicates: Sequence[Duplicate]
    delta_duplicates: int
    never_produced: int
    faults: Sequence[Fault]
    noted: Sequence[Fault]
    unowned: Sequence[Unowned]
    deaths: Sequence[str]
    went_back: Sequence[str]
    uncommitted: int
    faults_wanted: int
    errors: Sequence[str] = field(default=())
    aborted: int = 0
    plain: int = 0

    @property
    def failures(self) -> list[str]:
        found = [f"{self.missing} records are missing in the table"] if self.missing else []
        if self.missing_in_log:
            found.append(f"{self.missing_in_log} records are missing in what the batches read")
        if self.delta_duplicates:
            found.append(f"{self.delta_duplicates} records are in the table more than once")
        if self.never_produced:
            found.append(f"{self.never_produced} rows of the table were never produced")
        if unexplained := [d for d in self.duplicates if not d.explained]:
            count = sum(d.count for d in unexplained)
            found.append(f"{count} records were read twice without a fault that explains it")
        found += [f"a query died by itself: {death}" for death in self.deaths]
        found += [
            f"{u.partition} had no living owner for {u.seconds:.1f} s (at most {u.bound_s:.1f})"
            for u in self.unowned
            if not u.within_bound
        ]
        found += [f"the committed offset of {text}" for text in self.went_back]
        if self.uncommitted:
            found.append(f"{self.uncommitted} records were not committed to the group at the end")
        if len(self.faults) < self.faults_wanted:
            found.append(f"{len(self.faults)} faults, {self.faults_wanted} were wanted")
        return [*found, *self.errors]


def from_their_plans(
    deliveries: Iterable[Delivery], events: Iterable[Mapping[str, Any]]
) -> list[Delivery]:
    """Deliveries that begin when Spark logged their plans, and not when it handed them over: a
    planner that is paused in between opens the batch when it continues. A replay has the plan of an
    earlier run, and begins with its own.
    """
    runs = [(run[0]["at"], _begun(run)) for run in _runs(events) if run]

    def since(delivery: Delivery) -> float:
        its_run = (begun for at, begun in reversed(runs) if at <= delivery.began)
        begun: Mapping[int, float] = next(its_run, {})
        return begun.get(delivery.batch, delivery.began)

    return [replace(delivery, began=since(delivery)) for delivery in deliveries]


def reads_of(
    member: str,
    deliveries: Sequence[Delivery],
    stopped: Sequence[float],
    triggers: Sequence[Trigger] = (),
    unanswered: Sequence[tuple[float, float]] = (),
) -> Iterable[Read]:
    begun = [(d.batch, d.began) for d in deliveries]
    for delivery in deliveries:
        committed = committed_at(delivery.batch, delivery.began, begun, stopped, unanswered)
        asked = max(
            (t.began for t in triggers if t.began <= delivery.began <= t.until), default=None
        )
        batch = Batch(member, delivery.batch, delivery.began, delivery.ended, committed, asked)
        for partition, ranges in delivery.ranges.items():
            for r in ranges:
                yield Read(partition, r.start, r.until, batch)


def unanswered_commits(
    member: str,
    faults: Iterable[Fault],
    unanswered_in: Collection[str],
    moves: Iterable[Span] = (),
    heartbeat_s: float = 0.0,
) -> list[tuple[float, float]]:
    """When a member's commits may have got no answer. It still plans then, as long as its lease
    lasts. `unanswered_in`: see Protocol.

    `moves`: when another broker became the group's coordinator, or another coordinator took office.
    Brokers elect the preferred leaders every five minutes, without any fault: the former
    coordinator refuses the next commit, and a member that has not looked for the new one yet plans
    its next batch under its lease. It looks after its next heartbeat at the latest.
    """
    away = [
        (fault.at, fault.until)
        for fault in faults
        if fault.kind in unanswered_in or (fault.kind in CUT_OFF and member in fault.members)
    ]
    return away + [(move.start, move.until + heartbeat_s) for move in moves]


def produced_ranges(produced: Produced) -> dict[TopicPartition, list[tuple[int, int]]]:
    return {TopicPartition(produced.topic, p): list(r) for p, r in produced.ranges.items()}


def plain_reads(
    consumers: Iterable[PlainConsumer],
) -> dict[TopicPartition, list[tuple[int, int]]]:
    """What consumers that are not ours have read. Only what is missing is judged by it: of their
    batches and commits nothing is known.
    """
    found: dict[TopicPartition, list[tuple[int, int]]] = {}
    for consumer in consumers:
        for topic, partition, offset in consumer.rows:
            found.setdefault(TopicPartition(topic, partition), []).append((offset, offset + 1))
    return {partition: united(ranges) for partition, ranges in found.items()}


def unsettled(faults: Iterable[Fault], noted: Sequence[Fault], settle_s: float) -> Iterator[str]:
    """A session that ends while the group settles is a separate fault, after which the group starts
    to settle again.
    """
    for fault in faults:
        if not fault.settled and not any(fault.healed < f.until <= fault.over for f in noted):
            yield f"the group had not settled {settle_s:.0f} s after fault {fault.number}"


def triggers_of(member: str, events: Iterable[Mapping[str, Any]]) -> Iterator[Trigger]:
    """Those that Spark has reported, and of each run the one in which it ended: known by the batch
    that the sink was given, or by the replay with which the run began.
    """
    for run in _runs(events):
        reported = [event for event in run if event["event"] == "progress"]
        for event in reported:
            boundary_s = event["boundary_ms"] / 1000.0
            yield Trigger(member, triggered(event), event["ms"] / 1000.0, boundary_s)
        ended = min((e["at"] for e in run if e["event"] in RUN_ENDS), default=FOREVER)
        begun = _begun(run)
        for number in begun.keys() - {event["batch"] for event in reported}:
            if begun[number] < ended:
                yield Trigger(member, begun[number], ended - begun[number], cut_short=True)


def triggered(progress: Mapping[str, Any]) -> float:
    """When the trigger began that Spark reports. It may report it after the next query has begun:
    that a member reads again is shown by a trigger that began since, not by a report.
    """
    return datetime.fromisoformat(progress["timestamp"].replace("Z", "+00:00")).timestamp()


def _runs(events: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """The events of one run of a query after the other, with what ended it. Progress may be heard
    of after the end, but not after the next beginning.
    """
    run: list[Mapping[str, Any]] = []
    for event in events:
        if event["event"] in ("ready", "started"):
            # Where no end was noted before it, the run ended here at the latest.
            yield [*run, {"event": "gone", "at": event["at"]}]
            run = []
        run.append(event)
    yield run


def _begun(run: Iterable[Mapping[str, Any]]) -> dict[int, float]:
    """When the trigger of each batch began, as far as it is known without Spark's report."""
    found: dict[int, float] = {}
    for event in run:
        if event["event"] == "started":
            found.update(dict.fromkeys(event["replays"], event["at"]))
        elif event["event"] == "taken":
            # Of a replay that is the plan of an earlier run.
            found.setdefault(event["batch"], event["planned"])
    return found


def sessions_ended(
    member: str, said: Iterable[tuple[float, str]], session_s: float
) -> Iterable[Fault]:
    """What a member has noticed itself: a hard fault, whatever has caused it."""
    for at, text in said:
        found = ENDED.search(text) or GAVE_UP.search(text)
        if LOST.search(text) or (found and int(found[1])):
            yield Fault(
                0,
                "session ended",
                member,
                at - NOTICED_LATE * session_s,
                at,
                (member,),
                hard=True,
                injected=False,
                detail=text,
            )


def rebalances(said: Iterable[tuple[float, str]]) -> int:
    return sum(bool(REBALANCED.search(text)) for _, text in said)


def deaths(
    member: str, events: Iterable[Mapping[str, Any]], faults: Sequence[Fault]
) -> Iterable[str]:
    """Queries that ended although their planner was not killed."""
    kills = [f.at for f in faults if f.kind == "planner killed" and member in f.members]
    for event in events:
        if event["event"] != "died":
            continue
        cause = next((at for at in kills if at <= event["at"] <= at + DIES_WITHIN_S), None)
        if cause is None:
            yield f"{member} at {event['at']:.1f}: {event['error'].splitlines()[0]}"
        else:
            kills.remove(cause)
