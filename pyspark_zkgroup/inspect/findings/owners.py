"""Partitions that are held by whom they should not be, or by nobody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, named, partitions_of
from pyspark_zkgroup.inspect.findings.offsets import lacking
from pyspark_zkgroup.inspect.rows import PartitionRow

_AWAITED_S = 30.0
_SILENT_S = 300.0


def lasting(case: Case) -> Iterator[GroupFinding]:
    """Owner nodes of nobody, that no session ends."""
    for owner, rows in _stuck(case, lives=False).items():
        first = case.paths.owner(rows[0].partition)
        each = f"{first} and the like" if len(rows) > 1 else first
        evict = f", as `zkgroup members evict {case.last.seen.group} {owner}` does" if owner else ""
        yield GroupFinding(
            "owner",
            f"[ZKG-201] {named(r.partition for r in rows)} cannot be claimed: "
            f"{rows[0].owner or 'nobody'}, which is not registered, stands in an owner node that "
            f"no session ends, for {_oldest(case, rows)}",
            f"No process holds it, and no member has made it so: delete {each}{evict}. Who shall "
            "have the partition claims it at once",
            partitions=partitions_of(rows),
        )


def strangers(case: Case) -> Iterator[GroupFinding]:
    for rows in _stuck(case, lives=True).values():
        session = case.last.facts.owners[rows[0].partition].session
        yield GroupFinding(
            "owner",
            f"[ZKG-202] {named(r.partition for r in rows)} cannot be claimed: owned by "
            f"{rows[0].owner}, which is not registered, in session {session:#x}, for "
            f"{_oldest(case, rows)}; {sum(r.lag or 0 for r in rows):,} records wait",
            "Some process that is no member, or none any more, has this session: ZooKeeper's "
            "`cons` command (`echo cons | nc HOST 2181`, or the admin server's "
            "/commands/connections) names its address, at the server it is connected to. End it, "
            "and the nodes go with the session. If there is no such process, look again at `stat "
            f"{case.paths.owner(rows[0].partition)}`, as zkCli.sh has it: while ephemeralOwner is "
            f"{session:#x} and no server's `cons` names that, the process is dead, and the session "
            "ends by itself within its timeout (40 s at most, unless the servers' "
            "maxSessionTimeout is set): wait. If it is 0x0 by then, no session ends the node: "
            "delete it",
            partitions=partitions_of(rows),
        )


def silent(case: Case) -> Iterator[GroupFinding]:
    for member in case.last.seen.members:
        since_ms = _silent_since(case, member.consumer)
        if since_ms is None:
            continue
        rows, waiting = case.rows_of(member.consumer), case.waiting_for(member.consumer)
        verb = "waits" if len(waiting) == 1 else "wait"
        wait = f"; {named(waiting)} {verb} for it to let go" if waiting else ""
        unread = _free_for(case, member.consumer)
        free = named(r.partition for r in unread)
        left = f"; nobody reads {free}, which it shall have too" if unread else ""
        yield GroupFinding(
            "owner",
            f"[ZKG-203] {member.consumer} is stuck, or in a long batch: it holds {len(rows)} "
            f"partitions, {sum(r.lag or 0 for r in rows):,} records wait in them, and it has "
            f"committed nothing for {case.lasting(since_ms)}{wait}{left}",
            "See in its log, and at its executors, what the batch under way does. If it hangs, end "
            f"the process, or `zkgroup members evict {case.last.seen.group} {member.consumer}`: "
            "others read on, and only that batch comes twice. A JVM member can only be ended",
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
        remedy = (
            "It claims them at its next boundary, when its batch ends: see its log for what that "
            "does, or waits for"
        )
        if is_mixed:
            remedy = (
                "A JVM member may assign by another partition.assignment.strategy, which it does "
                "not publish, or have given up waiting (rebalance.max.retries): compare what the "
                f"members are configured with, and start {consumer} again"
            )
        yield GroupFinding(
            "owner",
            f"[ZKG-204] nobody owns {named(r.partition for r in rows)}, and {consumer}, which "
            f"shall have them, has not claimed them in {case.apart_s:.0f} s",
            remedy,
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
    """Committed, claimed, or let go between the looks."""
    return any(
        (before := case.before.get(row.partition)) is None
        or (before.committed_ms, before.owner) != (row.committed_ms, row.owner)
        for row in rows
    )
