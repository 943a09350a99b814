"""Partitions that the wrong member holds, or none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, named, partitions_of
from pyspark_zkgroup.inspect.findings.offsets import lacking
from pyspark_zkgroup.inspect.rows import PartitionRow

_AWAITED_S = 30.0
_SILENT_S = 300.0


def lasting(case: Case) -> Iterator[GroupFinding]:
    """Owner nodes that belong to no session, so that no session's end deletes them."""
    for owner, rows in _stuck(case, lives=False).items():
        first = case.paths.owner(rows[0].partition)
        each = f"{first} and the {len(rows) - 1} others" if len(rows) > 1 else first
        evict = f", or run `zkgroup members evict {case.last.seen.group} {owner}`" if owner else ""
        yield GroupFinding(
            "owner",
            *catalogue.finding(
                "ZKG-201",
                "stuck",
                partitions=named(r.partition for r in rows),
                owner=rows[0].owner or "no thread",
                lasting=_oldest(case, rows),
                paths=each,
                evict=evict,
            ),
            partitions=partitions_of(rows),
        )


def strangers(case: Case) -> Iterator[GroupFinding]:
    for rows in _stuck(case, lives=True).values():
        session = case.last.facts.owners[rows[0].partition].session
        yield GroupFinding(
            "owner",
            *catalogue.finding(
                "ZKG-202",
                "stranger",
                partitions=named(r.partition for r in rows),
                lasting=_oldest(case, rows),
                owner=rows[0].owner,
                session=session,
                waiting=sum(r.lag or 0 for r in rows),
                path=case.paths.owner(rows[0].partition),
            ),
            partitions=partitions_of(rows),
        )


def silent(case: Case) -> Iterator[GroupFinding]:
    for member in case.last.seen.members:
        since_ms = _silent_since(case, member.consumer)
        if since_ms is None:
            continue
        rows, waiting = case.rows_of(member.consumer), case.waiting_for(member.consumer)
        verb = "waits" if len(waiting) == 1 else "wait"
        waiters = f"; {named(waiting)} {verb} for it to release partitions" if waiting else ""
        unread = _free_for(case, member.consumer)
        free = named(r.partition for r in unread)
        unowned = f"; assigned to it but read by no member: {free}" if unread else ""
        yield GroupFinding(
            "owner",
            *catalogue.finding(
                "ZKG-203",
                "silent",
                member=member.consumer,
                count=len(rows),
                waiting=sum(r.lag or 0 for r in rows),
                lasting=case.lasting(since_ms),
                waiters=waiters,
                unread=unowned,
                group=case.last.seen.group,
            ),
            is_ill=case.last.at_ms - since_ms >= _SILENT_S * 1000,
            partitions=partitions_of([*rows, *unread]),
        )


def _free_for(case: Case, consumer: str) -> list[PartitionRow]:
    return [
        row
        for row in case.last.seen.partitions
        if row.state == "free" and row.wanted_by and consumer_of(row.wanted_by) == consumer
    ]


def _silent_since(case: Case, consumer: str) -> int | None:
    """Since when a member commits nothing though it has records to read, if that is long. Judged by
    all that it holds, since a partition without records is not committed either.
    """
    rows = case.rows_of(consumer)
    behind = [row for row in rows if row.lag and _lagged_before(case, row)]
    written = [row.committed_ms for row in rows if row.committed_ms is not None]
    if not behind or not written or _has_moved(case, rows):
        return None
    allowed_s = _AWAITED_S if case.waiting_for(consumer) else _SILENT_S
    since_ms = max(written)
    return since_ms if case.last.at_ms - since_ms >= allowed_s * 1000 else None


def unclaimed(case: Case) -> Iterator[GroupFinding]:
    """Free both times, and meant for the same one. Without a coordinator that is no wonder."""
    if case.first is case.last or case.is_headless or case.last.seen.faults:
        return
    found: dict[str, list[PartitionRow]] = {}
    lost = partitions_of(lacking(case))
    for row in case.last.seen.partitions:
        before = case.before.get(row.partition)
        lasts = before is not None and (before.state, before.wanted_by) == ("free", row.wanted_by)
        if row.state == "free" and row.wanted_by and lasts and row.partition not in lost:
            found.setdefault(consumer_of(row.wanted_by), []).append(row)
    is_mixed = "jvm" in case.kinds.values()
    for consumer, rows in found.items():
        if _silent_since(case, consumer) is not None:
            continue
        yield GroupFinding(
            "owner",
            *catalogue.finding(
                "ZKG-204",
                "mixed" if is_mixed else "batch",
                partitions=named(r.partition for r in rows),
                member=consumer,
                apart_s=case.apart_s,
            ),
            is_ill=False,
            partitions=partitions_of(rows),
        )


def _stuck(case: Case, *, lives: bool) -> Mapping[str, list[PartitionRow]]:
    """By the consumer that their owner nodes name."""
    found: dict[str, list[PartitionRow]] = {}
    for row in case.last.seen.partitions:
        if row.state == "stuck" and bool(case.last.facts.owners[row.partition].session) is lives:
            found.setdefault(row.member or "", []).append(row)
    return found


def _oldest(case: Case, rows: list[PartitionRow]) -> str:
    return case.lasting(min(row.since_ms or case.last.at_ms for row in rows))


def _lagged_before(case: Case, row: PartitionRow) -> bool:
    before = case.before.get(row.partition)
    return before is not None and bool(before.lag)


def _has_moved(case: Case, rows: list[PartitionRow]) -> bool:
    """Whether one was committed, claimed or released between the looks."""
    return any(
        (before := case.before.get(row.partition)) is None
        or (before.committed_ms, before.owner) != (row.committed_ms, row.owner)
        for row in rows
    )
