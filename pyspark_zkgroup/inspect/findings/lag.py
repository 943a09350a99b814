"""Partitions that are far behind, where the others of the group are not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from pyspark_zkgroup import catalogue
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
    """What came, and what was committed, between the looks, in `apart_s`. If batches take longer,
    one commit in that time says nothing: what was committed took the `done_s` between that commit
    and the one before, as far as that is known.
    """

    came: int
    done: int
    apart_s: float
    done_s: float | None

    @property
    def rise(self) -> float:
        """Of the lag, in records per second."""
        return self.came / self.apart_s - self.done / (self.done_s or self.apart_s)

    @property
    def trend(self) -> str:
        if self.rise < 0:
            return "shrinks"
        return "grows" if self.rise > 0 else "is constant"


def lagging(case: Case, explained: Collection[TopicPartition]) -> Iterator[GroupFinding]:
    """Told for each owner, since what makes a partition lag is often its reader."""
    rows = [row for row in case.last.seen.partitions if row.lag is not None]
    found: dict[str, list[PartitionRow]] = {}
    for row in far_behind(rows):
        if row.partition not in explained:
            found.setdefault(row.member or "", []).append(row)
    for owner, far in found.items():
        # A member divides its batches by what waits, so next to a hot partition the others of
        # the same member are delayed a little.
        most = max(row.lag or 0 for row in far)
        behind = _worst_first(row for row in far if (row.lag or 0) * _FAR >= most)
        held_up = _worst_first(
            row
            for row in rows
            if (row.member or "") == owner
            and (row.lag or 0) >= _LAG_MIN
            and row.partition not in explained
            and row not in behind
        )
        pace = _pace(case, behind)
        said = {
            "partitions": named(r.partition for r in behind),
            "lag": sum(row.lag or 0 for row in behind),
            "more": _more(rows, behind, held_up),
            "pace": _said(case, behind, pace),
        }
        name, advice = _advice(case, owner, behind, pace)
        yield GroupFinding(
            "lag",
            *catalogue.finding("ZKG-214", name, **said, **advice),
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


def _more(
    rows: Collection[PartitionRow], behind: Sequence[PartitionRow], held_up: Sequence[PartitionRow]
) -> str:
    """Return the largest lag, what else of the same member lags, and the lag of the others."""
    said = ""
    if len(behind) > 1:
        said = f" ({len(behind)} partitions, the largest lag is {_by(behind[0])})"
    if held_up:
        said += f"; {len(held_up)} more of its partitions lag, at most {_by(held_up[0])}"
    names = partitions_of((*behind, *held_up))
    rest = [row.lag or 0 for row in rows if row.partition not in names]
    if rest:
        said += f"; the other {len(rest)} partitions lag by {median(rest):,.0f} each"
    return said


def _by(row: PartitionRow) -> str:
    return f"{row.partition} with {row.lag or 0:,}"


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
    took_s: list[float] = []
    for row in rows:
        before = case.before.get(row.partition)
        if before is not None and before.lag is not None and row.lag is not None:
            came += (row.end or 0) - (before.end or 0)
            done += (row.committed or 0) - (before.committed or 0)
        if before is not None and before.committed_ms and row.committed_ms:
            took_s.append((row.committed_ms - before.committed_ms) / 1000)
    return _Pace(came, done, case.apart_s, max(case.apart_s, *took_s) if took_s else None)


def _said(case: Case, behind: Collection[PartitionRow], pace: _Pace | None) -> str:
    if pace is None:
        return f"run `zkgroup lag {case.last.seen.group} --watch` to see whether it grows"
    said = f"in {case.apart_s:.0f} s {pace.came:,} arrived and {pace.done:,} were committed"
    if pace.done_s is not None and pace.done_s > pace.apart_s:
        said += f" (after {pace.done_s:.0f} s without a commit)"
    if pace.done == 0:
        written = [row.committed_ms for row in behind if row.committed_ms is not None]
        return f"{said}, the last {case.ago(max(written))}" if written else said
    return f"{said}: the lag {pace.trend}"


def _advice(
    case: Case, owner: str, behind: Collection[PartitionRow], pace: _Pace | None
) -> tuple[str, dict[str, str]]:
    """Return the message that fits, and the values of its fields."""
    if not owner:
        return "unread", {"topics": named(sorted({row.partition.topic for row in behind}))}
    values = {
        "member": owner,
        "checks": _checks(case, owner),
        "watch": f"`zkgroup lag {case.last.seen.group} --watch` shows it over several batches",
    }
    if pace is None:
        return "unknown", values
    others = [row for row in case.last.seen.partitions if row not in behind]
    usual = _came_usually(case, others)
    is_hot = bool(others) and pace.came / len(behind) > _MORE * max(usual, 1.0)
    if pace.trend == "shrinks":
        left_s = sum(row.lag or 0 for row in behind) / -pace.rise
        arrivals = "more" if is_hot else "no more"
        only_if = "" if pace.done_s else f", if its batches take less than {case.apart_s:.0f} s"
        return "shrinking", {
            **values,
            "left": age(left_s * 1000),
            "only_if": only_if,
            "arrivals": f"These partitions receive {arrivals} records than the others",
        }
    advice = (
        "Waiting does not help while the lag does not fall."
        if pace.done
        else "Look for longer than a batch takes (--watch-seconds 60): if nothing is committed in "
        "that time, the batch is stuck."
    )
    return "hot" if is_hot else "slow", {**values, "advice": advice}


def _checks(case: Case, owner: str) -> str:
    """Larger batches are no remedy where their time grows with their rows."""
    seen, is_jvm = case.last.seen, case.kinds.get(owner) == "jvm"
    said = "check in its log how long its batches take and why, and the load of its machine"
    if not is_jvm:
        said += f"; raise its limits {_LIMITS} if larger batches take no longer"
        said += "; add tasks (minPartitions) if the tasks do the work"
    if len(case.rows_of(owner)) > 1:
        said += "; add `threads` or a member, as it reads several partitions"
    can_be_asked = seen.brokered is None and any(
        m.consumer == owner and m.kind == "zkgroup" and m.protocol != "light" for m in seen.members
    )
    if can_be_asked and len(seen.members) > 1:
        said += (
            f"; run `zkgroup members drain {seen.group} {owner}` to move its partitions to other "
            "members, which shows whether the member or the records are the cause"
        )
    return said


def _came_usually(case: Case, others: Collection[PartitionRow]) -> float:
    pace = _pace(case, others)
    return pace.came / len(others) if pace is not None and others else 0.0
