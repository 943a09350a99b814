"""Faults of which nothing may come: no claim ends while they last. Pure.

Among them are the loss of a broker, and of ZooKeeper for less than a session's timeout.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tests.chaos.values import Fault, Tenure


def ended_during(fault: Fault, tenures: Iterable[Tenure]) -> int:
    return sum(fault.at <= tenure.gone <= fault.healed for tenure in tenures)


def disturbances(
    faults: Sequence[Fault], tenures: Sequence[Tenure], noted: Sequence[Fault]
) -> Iterator[str]:
    """A session that ended meanwhile, for any reason, is a separate fault. After a fault that had
    not settled partitions may continue to move. Two that overlap may together be longer than a
    session lives.
    """
    for before, fault in pairwise([None, *faults]):
        assert fault is not None
        if not fault.calm or (before is not None and not before.settled):
            continue
        if any(map(fault.overlaps, faults)):
            continue
        if any(f.at <= fault.healed and f.until >= fault.at for f in noted):
            continue
        if ended := ended_during(fault, tenures):
            yield f"{ended} claims ended during fault {fault.number} ({fault.kind})"
