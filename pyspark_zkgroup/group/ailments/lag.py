"""Partitions that are far behind, where the others of the group are not."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from statistics import median

from pyspark_zkgroup.group.ailments.case import Ailment, Case, named, partitions_of
from pyspark_zkgroup.group.report import PartitionRow
from pyspark_zkgroup.model import TopicPartition

_LAG_MIN = 1000
_FAR = 10
_MORE = 3


def lagging(case: Case, explained: Collection[TopicPartition]) -> Iterator[Ailment]:
    """Told for each owner, since what makes a partition lag is often its reader."""
    rows = [row for row in case.last.seen.partitions if row.lag is not None]
    found: dict[str, list[PartitionRow]] = {}
    lags = sorted(row.lag or 0 for row in rows)
    for row in rows:
        lag = row.lag or 0
        if lag >= max(_LAG_MIN, _FAR * _usual(lags, lag)) and row.partition not in explained:
            found.setdefault(row.member or "nobody", []).append(row)
    for owner, far in found.items():
        # A member shares its batches out by what waits, so beside a hot partition the others of
        # the same member are held up a little.
        most = max(row.lag or 0 for row in far)
        behind = [row for row in far if (row.lag or 0) * _FAR >= most]
        lag = sum(row.lag or 0 for row in behind)
        names = partitions_of(behind)
        rest = [r.lag or 0 for r in rows if r.partition not in names]
        beside = f", the other {len(rest)} partitions {median(rest):,.0f} each" if rest else ""
        came, done = _moved(case, behind)
        yield Ailment(
            "lag",
            f"[ZKG-214] {named(r.partition for r in behind)}, read by {owner}, "
            f"lag by {lag:,} records{beside}; {_pace(case, came, done)}",
            _remedy(case, owner, behind, came),
            is_ill=False,
            partitions=names,
        )


def _usual(lags: Sequence[int], own: int) -> float:
    """The median of the others. `lags` are sorted, and may be many."""
    at, n = bisect_left(lags, own), len(lags) - 1
    if not n:
        return 0
    low, high = (middle if middle < at else middle + 1 for middle in ((n - 1) // 2, n // 2))
    return (lags[low] + lags[high]) / 2


def _moved(case: Case, rows: Collection[PartitionRow]) -> tuple[int, int]:
    """What came, and what was committed, between the looks."""
    came = done = 0
    for row in rows:
        before = case.before.get(row.partition)
        if before is not None:
            came += (row.end or 0) - (before.end or 0)
            done += (row.committed or 0) - (before.committed or 0)
    return came, done


def _pace(case: Case, came: int, done: int) -> str:
    if case.first is case.last:
        return "`zkgroup lag --watch` shows whether it grows"
    return f"in {case.apart_s:.0f} s {came:,} came and {done:,} were committed"


def _remedy(case: Case, owner: str, behind: Collection[PartitionRow], came: int) -> str:
    names = partitions_of(behind)
    others = [row for row in case.last.seen.partitions if row.partition not in names]
    usual = _moved(case, others)[0] / len(others) if others else 0.0
    watch = f"`zkgroup lag {case.last.seen.group} --watch` shows whether it falls: then only wait"
    if others and came / len(behind) > _MORE * max(usual, 1.0):
        return (
            "Far more records come there than elsewhere: a hot partition. See which keys they have "
            f"and spread them; let {owner} take more at a time (maxOffsetsPerTrigger, "
            f"maxBytesPerTrigger) and by more tasks (minPartitions). {watch}"
        )
    return (
        f"No more records come there than elsewhere, so {owner} is slow: see in its log how long "
        "its batches take and on what, its limits (maxOffsetsPerTrigger, maxBytesPerTrigger), and "
        f"the load of its machine. {watch}"
    )
