"""What is missing, what came twice, and by which fault. Pure.

A batch may come twice when a hard fault of its member fell into the time in which it was in flight:
from the log of its plan until its end is committed to the group. A JVM that is stopped may have its
plan already, and logs it when it continues: then from the trigger that asked for the plan. Of n
deliveries of one record all but one must be explained so, whichever came first: a member that is
paused in mid-batch delivers it after its successor has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.values import FOREVER, Batch, Duplicate, Fault, Read

Ranges = Mapping[TopicPartition, Sequence[tuple[int, int]]]


def in_flight(batch: Batch, fault: Fault) -> bool:
    if not fault.hard or batch.member not in fault.members:
        return False
    if fault.batches is not None and (batch.member, batch.number) not in fault.batches:
        return False
    began = batch.began if batch.asked is None or not fault.stops_jvm else batch.asked
    return fault.at <= batch.committed and fault.until >= began


def explain(reads: Sequence[Batch], faults: Sequence[Fault]) -> tuple[tuple[Batch, Fault], ...]:
    """Deliveries with a fault that may have caused them, one each; an injected fault comes before
    one that was only noted.
    """
    by_likelihood = sorted(faults, key=lambda f: (not f.injected, f.at))
    found = []
    for batch in reads:
        fault = next((f for f in by_likelihood if in_flight(batch, f)), None)
        if fault is not None:
            found.append((batch, fault))
    return tuple(found)


def duplicates(reads: Iterable[Read], faults: Sequence[Fault]) -> list[Duplicate]:
    """Ranges of records that were read more than once, each as long as its deliveries are the
    same.
    """
    by_partition: dict[TopicPartition, list[Read]] = defaultdict(list)
    for read in reads:
        by_partition[read.partition].append(read)
    found = []
    for partition, some in sorted(by_partition.items()):
        for start, until, batches in _overlaps(some):
            ordered = tuple(sorted(batches, key=lambda b: b.delivered))
            found.append(Duplicate(partition, start, until, ordered, explain(ordered, faults)))
    return found


def _overlaps(reads: Sequence[Read]) -> Iterator[tuple[int, int, list[Batch]]]:
    """Stretches that two or more of these ranges hold, with the batches of each."""
    changes = sorted(
        [(read.start, 1, n) for n, read in enumerate(reads)]
        + [(read.until, 0, n) for n, read in enumerate(reads)]
    )
    open_now: set[int] = set()
    began = 0
    for offset, opens, number in changes:
        if len(open_now) > 1 and offset > began:
            yield began, offset, [reads[n].batch for n in open_now]
        began = offset
        if opens:
            open_now.add(number)
        else:
            open_now.discard(number)


def united(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, until in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], until))
        elif start < until:
            found.append((start, until))
    return found


def lacking(wanted: Ranges, there: Ranges) -> dict[TopicPartition, list[tuple[int, int]]]:
    """What is in `wanted` and not in `there`."""
    found = {}
    for partition, ranges in wanted.items():
        rest: list[tuple[int, int]] = []
        have = united(there.get(partition, ()))
        starts, ends = [low for low, _ in have], [high for _, high in have]
        for start, until in united(ranges):
            at = start
            for low, high in have[bisect_right(ends, start) : bisect_left(starts, until)]:
                if low > at:
                    rest.append((at, low))
                at = max(at, high)
            if at < until:
                rest.append((at, until))
        if rest:
            found[partition] = rest
    return found


def size(ranges: Ranges) -> int:
    return sum(until - start for some in ranges.values() for start, until in some)


def committed_at(
    number: int,
    began: float,
    begun: Sequence[tuple[int, float]],
    stopped: Sequence[float],
    unanswered: Sequence[tuple[float, float]] = (),
) -> float:
    """When the end of a batch was surely committed: its member's next batch has begun, or its
    member was drained. `begun`: (number, time) of the batches of that same life of the member.
    `unanswered`: from when until when commits may have got no answer. A batch that begins then
    proves nothing.
    """
    later = [
        at
        for other, at in begun
        if other > number and at >= began and not any(a <= at <= z for a, z in unanswered)
    ]
    later += [at for at in stopped if at >= began]
    return min(later, default=FOREVER)
