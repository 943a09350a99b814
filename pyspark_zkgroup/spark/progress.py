"""A query's progress, as Spark reports it after each trigger, read as that of a group's member.

Spark keeps what a source says of itself as text: the plan as `endOffset`, and what the planner
reported with it as `latestOffset`. Here they become values again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, decode
from pyspark_zkgroup.printable import printable

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_DDL = (
    "group string, member string, batch long, topic string, partition int, thread int, "
    "start long, end long, latest long, lag long"
)


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """`start` to `end` is what the newest batch read; `latest` is the end of the log by then."""

    topic: str
    partition: int
    thread: int
    start: int
    end: int
    latest: int | None

    @property
    def lag(self) -> int | None:
        return None if self.latest is None else max(0, self.latest - self.end)


@dataclass(frozen=True, slots=True)
class MemberProgress:
    """One zkgroup source of a query. `waiting` says for each partition that is ours and not held
    for whom it waits, and for how long.

    Spark 4.0 and 4.1 ask a source for its plans alone: `members` and `lag` are None there, and
    nothing is known of what it waits for.
    """

    query: str
    name: str
    batch: int
    at: str
    rows: int
    rows_per_second: float
    input_rows_per_second: float
    trigger_ms: int
    group: str
    protocol: str
    member: str
    members: int | None
    held: int
    lag: int | None
    waiting: Mapping[str, str] = field(default_factory=dict)
    waiting_count: int = 0
    dropped: int = 0
    data_loss: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    generation: int | None = None
    partitions: tuple[PartitionProgress, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        found["notes"] = list(self.notes)
        found["partitions"] = [{**asdict(p), "lag": p.lag} for p in self.partitions]
        return found


def progress(query: StreamingQuery) -> dict[str, Any] | None:
    """Return the state of `query` in its group after the newest trigger; None before the first one.

    If `query` has several zkgroup sources, this is the first one; `read_progress` returns all.

        held = progress(query)
        if held is not None:
            print(held["group"], held["member"], len(held["partitions"]))
    """
    found = all_progress(query)
    return found[0].as_dict() if found else None


def all_progress(query: StreamingQuery) -> tuple[MemberProgress, ...]:
    newest = query.lastProgress
    return () if newest is None else read_progress(json.loads(newest.json))


def progress_frame(query: StreamingQuery, spark: SparkSession) -> DataFrame:
    """Return a row for each partition of `query`: the offsets read last, the log end, and the lag.

    `spark`: the session that makes the frame.

        progress_frame(query, spark).orderBy("lag", ascending=False).show()
    """
    rows = [
        (
            m.group,
            m.member,
            m.batch,
            p.topic,
            p.partition,
            p.thread,
            p.start,
            p.end,
            p.latest,
            p.lag,
        )
        for m in all_progress(query)
        for p in m.partitions
    ]
    return spark.createDataFrame(rows, _DDL)


def read_progress(report: Mapping[str, Any]) -> tuple[MemberProgress, ...]:
    """Return the progress of each zkgroup source in a report of Spark.

    `report`: the parsed JSON of a `StreamingQueryProgress`, of a running query or from a log.

        import json

        for member in read_progress(json.loads(query.lastProgress.json)):
            print(member.group, sum(held.lag or 0 for held in member.partitions))
    """
    return tuple(_members(report))


def _members(report: Mapping[str, Any]) -> Iterator[MemberProgress]:
    for source in report.get("sources", ()):
        latest = shown_offset(source.get("latestOffset"))
        plan = _plan(source.get("endOffset")) or _plan(source.get("startOffset"))
        if plan is None:
            continue
        yield MemberProgress(
            query=str(report.get("id", "")),
            name=str(report.get("name") or ""),
            batch=int(report.get("batchId", -1)),
            at=str(report.get("timestamp", "")),
            rows=int(source.get("numInputRows", 0)),
            rows_per_second=_rate(source.get("processedRowsPerSecond")),
            input_rows_per_second=_rate(source.get("inputRowsPerSecond")),
            trigger_ms=int(report.get("durationMs", {}).get("triggerExecution", 0)),
            group=plan.group,
            protocol=plan.protocol,
            member=str(latest.get("member") or plan.member),
            members=_count(latest.get("members")),
            held=int(latest.get("held", len(plan.ranges))),
            lag=_count(latest.get("lag")),
            waiting={p: printable(why) for p, why in latest.get("waiting", {}).items()},
            waiting_count=int(latest.get("waitingCount", 0)),
            dropped=int(latest.get("dropped", 0)),
            data_loss=latest.get("dataLoss", {}),
            notes=tuple(map(printable, latest.get("notes", ()))),
            generation=latest.get("generation"),
            partitions=_partitions(plan, latest.get("latest", {})),
        )


def _partitions(
    plan: Plan, latest: Mapping[str, Mapping[str, int]]
) -> tuple[PartitionProgress, ...]:
    def end_of(p: TopicPartition) -> int | None:
        return latest.get(p.topic, {}).get(str(p.partition))

    return tuple(
        PartitionProgress(
            r.partition.topic,
            r.partition.partition,
            r.thread,
            r.range.start,
            r.range.until,
            end_of(r.partition),
        )
        for r in plan.ranges
    )


def _plan(offset: object) -> Plan | None:
    value = shown_offset(offset)
    if "protocol" not in value:
        return None
    try:
        return decode(value)
    except PlanError:
        return None


def shown_offset(value: object) -> dict[str, Any]:
    """Progress shows an offset as an object, or as its text; empty where it is neither."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    return value if isinstance(value, int) else None


def _rate(value: object) -> float:
    """Absent, or NaN as a text, where no time has passed."""
    return float(value) if isinstance(value, int | float) else 0.0
