"""Members' progress as Prometheus text, for a scraper or a file that one collects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyspark_zkgroup.exposition import Labels, Metric, exposition
from pyspark_zkgroup.spark.progress import MemberProgress


@dataclass(frozen=True, slots=True)
class Totals:
    """Counted over the batches that were seen."""

    rows: int = 0
    batches: int = 0


def text(members: Iterable[tuple[MemberProgress, Totals]]) -> str:
    """All metrics of these members, in the exposition format."""
    return exposition(_metrics(list(members)))


def _metrics(
    every: list[tuple[MemberProgress, Totals]],
) -> list[Metric]:
    members = [m for m, _ in every]
    by_partition = [
        ({**_of(m), "topic": p.topic, "partition": p.partition}, p)
        for m in members
        for p in m.partitions
    ]
    return [
        (
            "zkgroup_lag_records",
            "gauge",
            "Records between what was read last and the end of the log.",
            [(labels, p.lag) for labels, p in by_partition if p.lag is not None],
        ),
        (
            "zkgroup_position",
            "gauge",
            "The next offset to read.",
            [(labels, p.end) for labels, p in by_partition],
        ),
        (
            "zkgroup_log_end",
            "gauge",
            "The end of the log.",
            [(labels, p.latest) for labels, p in by_partition if p.latest is not None],
        ),
        *_gauges(members),
        (
            "zkgroup_rows_total",
            "counter",
            "Rows delivered since the listener was added.",
            [(_of(m), t.rows) for m, t in every],
        ),
        (
            "zkgroup_batches_total",
            "counter",
            "Batches with rows since the listener was added.",
            [(_of(m), t.batches) for m, t in every],
        ),
        (
            "zkgroup_dropped_total",
            "counter",
            "Partitions lost to other members, or by a reset, since the query started.",
            [(_of(m), m.dropped) for m in members],
        ),
        (
            "zkgroup_data_loss_records_total",
            "counter",
            "Records that were gone before they were read.",
            [(_of(m), m.data_loss.get("records", 0)) for m in members],
        ),
    ]


def _gauges(
    members: list[MemberProgress],
) -> list[Metric]:
    return [
        (
            "zkgroup_members",
            "gauge",
            "Members of the group.",
            [(_of(m), m.members) for m in members if m.members is not None],
        ),
        (
            "zkgroup_held_partitions",
            "gauge",
            "Partitions this member holds.",
            [(_of(m), m.held) for m in members],
        ),
        (
            "zkgroup_waiting_partitions",
            "gauge",
            "Partitions that are this member's and not free yet.",
            [(_of(m), m.waiting_count) for m in members],
        ),
        (
            "zkgroup_trigger_seconds",
            "gauge",
            "How long the newest trigger took.",
            [(_of(m), m.trigger_ms / 1000) for m in members],
        ),
    ]


def _of(member: MemberProgress) -> Labels:
    """Not the consumer id: each start makes another, and each would be a separate series."""
    return {"group": member.group, "query": member.name or member.query}
