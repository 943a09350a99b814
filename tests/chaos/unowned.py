"""How long partitions had no living owner, and whether that was too long. Pure.

The rule: from the moment in which its owner dies or falls silent for longer than its session lives,
or else from the moment in which its owner node goes, until the next owner node is made, a partition
may be unowned for

    the session timeout (where the owner fell silent; a clean hand-over has none of it), or
      max.poll.interval.ms where only its driver did
    + one batch of the member that claims it: claims happen at boundaries only
    + as long as ZooKeeper itself, all of it, gave no answer meanwhile
    + ALLOWANCE_S: ZooKeeper ends sessions once per tick, and what is seen is sampled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.values import FOREVER, Fault, Span, Tenure, Trigger, Unowned

ALLOWANCE_S = 2.0


def unowned(
    tenures: Iterable[Tenure],
    born: Mapping[TopicPartition, float],
    faults: Sequence[Fault],
    names: Mapping[str, str],
    triggers: Sequence[Trigger],
    silences: Sequence[Span],
    *,
    trigger_s: float,
    ends: float,
) -> list[Unowned]:
    """`born`: partitions made during the run, and when. `names`: members by their consumer ids.
    `silences`: when ZooKeeper as a whole gave no answer. `ends`: when the members were told to
    leave for good.
    """
    by_partition: dict[TopicPartition, list[Tenure]] = defaultdict(list)
    for tenure in tenures:
        by_partition[tenure.partition].append(tenure)
    found = []
    for partition in sorted(by_partition.keys() | born.keys()):
        lives = sorted(by_partition[partition], key=lambda t: t.life)
        row: list[Tenure | None] = [*lives, None]
        if partition in born:
            row.insert(0, None)
        for before, after in pairwise(row):
            until = ends if after is None else min(ends, after.since)
            start, fault = _start(before, until, born.get(partition, 0.0), faults, names)
            if start >= until:
                continue
            claimer = "" if after is None else after.consumer
            free = min(until, max(start, before.gone if before is not None else start))
            batch_s = one_batch(claimer, Span(free, until), triggers, trigger_s)
            silent = sum(s.shared(Span(start, until)) for s in silences)
            bound = batch_s + silent + ALLOWANCE_S + (fault.grace_s if fault is not None else 0.0)
            found.append(
                Unowned(
                    partition,
                    start,
                    until,
                    bound,
                    batch_s,
                    before="" if before is None else names.get(before.consumer, before.consumer),
                    after=names.get(claimer, claimer),
                    fault=fault,
                )
            )
    return found


def _start(
    before: Tenure | None,
    until: float,
    born: float,
    faults: Sequence[Fault],
    names: Mapping[str, str],
) -> tuple[float, Fault | None]:
    if before is None:
        return born, None
    member = names.get(before.consumer, "")
    # A node that outlives its owner's fault for good had its owner come back in time.
    deadly = [
        fault
        for fault in faults
        if fault.ends_claims
        and member in fault.members
        and before.since <= fault.at <= min(before.gone, until)
        and before.gone < FOREVER
    ]
    if not deadly:
        return min(before.gone, until), None
    # Several in a row: the owner came back from all but the last.
    last = max(deadly, key=lambda fault: fault.at)
    return last.at, last


def one_batch(consumer: str, span: Span, triggers: Sequence[Trigger], trigger_s: float) -> float:
    """From one boundary of the claimer to its next: its longest batch in that time, or the pause
    between two triggers.
    """
    took = [
        t.seconds
        for t in triggers
        if t.consumer == consumer and Span(t.began, t.began + t.seconds + 1e-6).shared(span) > 0
    ]
    return max([trigger_s, *took])
