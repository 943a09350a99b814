"""What is wrong with a group as it was seen from outside, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator

from pyspark_zkgroup.inspect.findings.brokered import (
    eager,
    kept_classic,
    storm,
    unreadable,
    unsettled,
    without_partitions,
)
from pyspark_zkgroup.inspect.findings.case import Case, GroupFinding, Look, has_nothing
from pyspark_zkgroup.inspect.findings.lag import far_behind, lagging
from pyspark_zkgroup.inspect.findings.members import divided, headless, idle, mixed, nobody
from pyspark_zkgroup.inspect.findings.offsets import beyond, deleted, made_anew, missing
from pyspark_zkgroup.inspect.findings.owners import lasting, silent, strangers, unclaimed

__all__ = [
    "GroupFinding",
    "Case",
    "Look",
    "group_findings",
    "far_behind",
    "has_nothing",
    "needs_second_look",
]

_KINDS = (
    *(mixed, divided, headless, nobody),
    *(lasting, strangers, silent, unclaimed),
    *(missing, made_anew, deleted, beyond),
    idle,
)
_BROKERED_KINDS = (
    *(unreadable, nobody, storm, unsettled, without_partitions),
    *(eager, kept_classic, deleted, beyond),
)


def group_findings(case: Case) -> tuple[GroupFinding, ...]:
    """A partition that lags is named only where nothing else explains it."""
    kinds = _KINDS if case.last.seen.brokered is None else _BROKERED_KINDS
    found = [finding for kind in kinds for finding in kind(case)]
    explained = frozenset(p for finding in found for p in finding.partitions)
    found += lagging(case, explained)
    return (*found, *_remarks(case))


def needs_second_look(look: Look) -> bool:
    """Whether it depends on what happens next: what moves is well. Brokers keep no trace of a
    rebalance, so that members there are watched in any case.
    """
    if look.seen.brokered is not None and look.seen.members:
        return True
    return any(row.lag or row.state in ("free", "moving") for row in look.seen.partitions)


def _remarks(case: Case) -> Iterator[GroupFinding]:
    seen = case.last.seen
    for note in seen.notes:
        if note not in seen.faults:
            yield GroupFinding("group", note, "", is_ill=False)
    for row in seen.partitions:
        if row.trouble is not None:
            remedy = f"Set or delete {case.paths.offset(row.partition)}"
            yield GroupFinding("offset", f"{row.partition}: {row.trouble}", remedy)
