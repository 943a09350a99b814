"""Partitions that are far behind, where the others of the group are not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from pyspark_zkgroup.inspect.age import age
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, named, partitions_of
from pyspark_zkgroup.inspect.rows import PartitionRow
from pyspark_zkgroup.model import TopicPartition

_LAG_MIN = 1000
_FAR = 10
_MORE = 3
_LIMITS = "(maxOffsetsPerTrigger, maxBytesPerTrigger)"


@dataclass(frozen=True, slots=True)
class _Pace:
    """What came, and what was committed, between the looks."""

    came: int
    done: int

    @property
    def trend(self) -> str:
        if self.done > self.came:
            return "shrinks"
        return "grows" if self.came > self.done else "stays"


def lagging(case: Case, explained: Collection[TopicPartition]) -> Iterator[GroupFinding]:
    """Told for each owner, since what makes a partition lag is often its reader."""
    rows = [row for row in case.last.seen.partitions if row.lag is not None]
    found: dict[str, list[PartitionRow]] = {}
    for row in far_behind(rows):
        if row.partition not in explained:
            found.setdefault(row.member or "nobody", []).append(row)
    for owner, far in found.items():
        # A member shares its batches out by what waits, so beside a hot partition the others of
        # the same member are held up a little.
        most = max(row.lag or 0 for row in far)
        behind = _worst_first(row for row in far if (row.lag or 0) * _FAR >= most)
        held_up = _worst_first(
            row
            for row in rows
            if (row.member or "nobody") == owner
            and (row.lag or 0) >= _LAG_MIN
            and row.partition not in explained
            and row not in behind
        )
        pace = _pace(case, behind)
        yield GroupFinding(
            "lag",
            f"[ZKG-214] {named(r.partition for r in behind)}, read by {owner}, "
            f"lag by {sum(row.lag or 0 for row in behind):,} records"
            f"{_beside(rows, behind, held_up)}; {_said(case, behind, pace)}",
            _remedy(case, owner, behind, pace),
            is_ill=False,
            partitions=partitions_of(behind),
        )


def far_behind(rows: Iterable[PartitionRow]) -> list[PartitionRow]:
    """Those whose lag is large, and many times that of the others."""
    known = [row for row in rows if row.lag is not None]
    lags = sorted(row.lag or 0 for row in known)
    return [
        row for row in known if (row.lag or 0) >= max(_LAG_MIN, _FAR * _usual(lags, row.lag or 0))
    ]


def _worst_first(rows: Iterable[PartitionRow]) -> list[PartitionRow]:
    return sorted(rows, key=lambda row: -(row.lag or 0))


def _beside(
    rows: Collection[PartitionRow], behind: Sequence[PartitionRow], held_up: Sequence[PartitionRow]
) -> str:
    """The worst one, what else of the same member lags, and what the others do."""
    said = ""
    if len(behind) > 1:
        said = f" ({len(behind)} partitions, {_by(behind[0])} the worst)"
    if held_up:
        said += f", and {len(held_up)} more of its partitions, {_by(held_up[0])} the worst"
    names = partitions_of((*behind, *held_up))
    rest = [row.lag or 0 for row in rows if row.partition not in names]
    if rest:
        said += f", the other {len(rest)} partitions {median(rest):,.0f} each"
    return said


def _by(row: PartitionRow) -> str:
    return f"{row.partition} by {row.lag or 0:,}"


def _usual(lags: Sequence[int], own: int) -> float:
    """The median of the others. `lags` are sorted, and may be many."""
    at, n = bisect_left(lags, own), len(lags) - 1
    if not n:
        return 0
    low, high = (middle if middle < at else middle + 1 for middle in ((n - 1) // 2, n // 2))
    return (lags[low] + lags[high]) / 2


def _pace(case: Case, rows: Collection[PartitionRow]) -> _Pace | None:
    """None where it was looked at once."""
    if case.first is case.last:
        return None
    came = done = 0
    for row in rows:
        before = case.before.get(row.partition)
        if before is not None and before.lag is not None and row.lag is not None:
            came += (row.end or 0) - (before.end or 0)
            done += (row.committed or 0) - (before.committed or 0)
    return _Pace(came, done)


def _said(case: Case, behind: Collection[PartitionRow], pace: _Pace | None) -> str:
    if pace is None:
        return f"`zkgroup lag {case.last.seen.group} --watch` shows whether it grows"
    said = f"in {case.apart_s:.0f} s {pace.came:,} came and {pace.done:,} were committed"
    if pace.done == 0:
        written = [row.committed_ms for row in behind if row.committed_ms is not None]
        return f"{said}, the last ones {case.ago(max(written))}" if written else said
    return f"{said}: it {pace.trend}"


def _remedy(case: Case, owner: str, behind: Collection[PartitionRow], pace: _Pace | None) -> str:
    if owner == "nobody":
        topics = sorted({row.partition.topic for row in behind})
        return (
            f"No member reads {named(topics)} any more, or yet: start one that is subscribed to "
            "it, or leave it if nobody shall"
        )
    slow = _of_its_reader(case, owner)
    watch = f"`zkgroup lag {case.last.seen.group} --watch` shows it over several batches"
    if pace is None:
        return f"If it does not fall, {owner} is slow, or a partition hot: {slow}. {watch}"
    others = [row for row in case.last.seen.partitions if row not in behind]
    usual = _came_usually(case, others)
    is_hot = bool(others) and pace.came / len(behind) > _MORE * max(usual, 1.0)
    if pace.trend == "shrinks":
        left_s = sum(row.lag or 0 for row in behind) * case.apart_s / (pace.done - pace.came)
        kind = "more than elsewhere: a hot partition" if is_hot else "no more than elsewhere"
        return (
            f"What comes there is {kind}, and {owner} catches up: at this pace it takes "
            f"{age(left_s * 1000)} more, so wait. If it does not fall any more, {slow}. {watch}"
        )
    if is_hot:
        return (
            "Far more records come there than elsewhere: a hot partition. See which keys they have "
            f"and spread them; and for {owner} to read more, {slow}. {_no_wait(pace)} {watch}"
        )
    return (
        f"No more records come there than elsewhere, so {owner} is slow: {slow}. {_no_wait(pace)} "
        f"{watch}"
    )


def _of_its_reader(case: Case, owner: str) -> str:
    """Larger batches are no remedy where their time grows with their rows."""
    seen, is_jvm = case.last.seen, case.kinds.get(owner) == "jvm"
    said = "see in its log how long its batches take and on what, and the load of its machine"
    if not is_jvm:
        said += f"; its limits {_LIMITS}, where larger batches take no longer"
        said += "; more tasks (minPartitions), where they do the work"
    if len(case.rows_of(owner)) > 1:
        said += "; more `threads`, or one more member, since it reads several partitions"
    can_be_asked = any(
        m.consumer == owner and m.kind == "zkgroup" and m.protocol != "light" for m in seen.members
    )
    if can_be_asked and len(seen.members) > 1:
        said += (
            f"; `zkgroup members drain {seen.group} {owner}` gives what it reads to others, and so "
            "tells whether it is the member or the records"
        )
    return said


def _no_wait(pace: _Pace) -> str:
    if pace.done:
        return "To wait does not help as long as it does not fall."
    return (
        "Look for longer than a batch takes (--watch-seconds 60): if it commits nothing in that "
        "time, its batch is stuck."
    )


def _came_usually(case: Case, others: Collection[PartitionRow]) -> float:
    pace = _pace(case, others)
    return pace.came / len(others) if pace is not None and others else 0.0
