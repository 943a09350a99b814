"""How long partitions had no living owner, and whether that was too long. Pure.

A gap lasts from the moment in which its owner dies or falls silent for longer than its session
lives, or else from the moment in which its owner node goes, until the next owner node is made. It
may be as long as

    the session timeout (where the owner fell silent; a clean hand-over has none of it), or
      max.poll.interval.ms where only its driver did
    + one batch of each rightful member, one after the other
    + as long as ZooKeeper itself, all of it, gave no answer meanwhile
    + ALLOWANCE_S: ZooKeeper ends sessions once per tick, what is seen is sampled, and a boundary
      that releases or claims has work to do while three Sparks share two cores.

The rightful member is the one to which the group's assignor gives the partition among those that
are registered. From the end of the old owner node on, the gap is cut where it changes: a member
that registers again takes the right of another, which was in its batch until then; one that ends
leaves its right to the next. Claims happen at boundaries only, so in each such piece is granted
what of it went by in one batch of the rightful member:

    - the one that takes the most of the piece, with the boundary behind it, and of it only what
      lies in the piece. What went by before or after that batch is not granted. So a member that
      reaches a boundary by itself and does not claim is found.
    - A batch in which its query ended, and which Spark hence never reported, counts until then.
    - At least trigger_s, the pause between two triggers, and never more than the piece is long.
    - Of a member that a fault has ended, and whose registration still stands, no batch counts from
      the fault on. If it is the fault with which the gap began, that time is in the first line
        above; else it is granted in addition, once for that fault, up to its session timeout.
      - While no member is registered (each has given up in a batch beyond max.poll.interval.ms):
        the time until any member reaches a boundary; there it could have registered.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyspark_zkgroup.model import TopicPartition
from tests.chaos.rightful import Rightful
from tests.chaos.values import FOREVER, Fault, Right, Span, Tenure, Trigger, Unowned, Wait

ALLOWANCE_S = 3.0


@dataclass(frozen=True)
class Group:
    """What is known of the members. `names`: by their consumer ids."""

    rightful: Rightful
    names: Mapping[str, str]
    faults: Sequence[Fault]
    triggers: Sequence[Trigger]
    trigger_s: float


def unowned(
    tenures: Iterable[Tenure],
    born: Mapping[TopicPartition, float],
    group: Group,
    silences: Sequence[Span],
    *,
    ends: float,
) -> list[Unowned]:
    """`born`: partitions made during the run, and when. `silences`: when ZooKeeper as a whole gave
    no answer. `ends`: when the members were asked to leave at the end.
    """
    by_partition: dict[TopicPartition, list[Tenure]] = defaultdict(list)
    for tenure in tenures:
        by_partition[tenure.partition].append(tenure)
    names = group.names
    found = []
    for partition in sorted(by_partition.keys() | born.keys()):
        lives = sorted(by_partition[partition], key=lambda t: t.life)
        row: list[Tenure | None] = [*lives, None]
        if partition in born:
            row.insert(0, None)
        for before, after in pairwise(row):
            until = ends if after is None else min(ends, after.since)
            start, fault = _start(before, until, born.get(partition, 0.0), group)
            if start >= until:
                continue
            claimer = "" if after is None else after.consumer
            free = min(until, max(start, before.gone if before is not None else start))
            waits, others_s = _waits(partition, Span(free, until), fault, group)
            batch_s = sum(wait.granted_s for wait in waits)
            silent = sum(s.shared(Span(start, until)) for s in silences)
            grace_s = others_s + (fault.grace_s if fault is not None else 0.0)
            grace_s += _grace_of_pairs(Span(start, until), fault, group.faults)
            found.append(
                Unowned(
                    partition,
                    start,
                    until,
                    grace_s + batch_s + silent + ALLOWANCE_S,
                    batch_s,
                    before="" if before is None else names.get(before.consumer, before.consumer),
                    after=names.get(claimer, claimer),
                    fault=fault,
                    waits=waits,
                )
            )
    return found


def _grace_of_pairs(span: Span, own: Fault | None, faults: Sequence[Fault]) -> float:
    """That of faults which overlap another one, and of which some lies in the gap."""
    return sum(
        fault.grace_s
        for fault in faults
        if fault is not own
        and Span(fault.at, fault.over).shared(span)
        and any(map(fault.overlaps, faults))
    )


def _start(
    before: Tenure | None, until: float, born: float, group: Group
) -> tuple[float, Fault | None]:
    if before is None:
        return born, None
    last = _ended_by(before.consumer, before.since, before.gone, until, group)
    return (min(before.gone, until), None) if last is None else (last.at, last)


def _ended_by(consumer: str, since: float, gone: float, until: float, group: Group) -> Fault | None:
    """The fault by which a node of that member ended."""
    member = group.names.get(consumer, "")
    # A node that outlives its owner's fault for good had its owner come back in time.
    deadly = [
        fault
        for fault in group.faults
        if fault.ends_claims
        and member in fault.members
        and since <= fault.at <= min(gone, until)
        and gone < FOREVER
    ]
    # Several in a row: the owner came back from all but the last.
    return max(deadly, key=lambda fault: fault.at, default=None)


def _waits(
    partition: TopicPartition, span: Span, fault: Fault | None, group: Group
) -> tuple[tuple[Wait, ...], float]:
    """For whom it waited how long, and the time granted for other faults than the gap's own."""
    waits = []
    dead_s: dict[int, float] = defaultdict(float)
    graces_s = {f.number: f.grace_s for f in group.faults}
    for right in group.rightful.during(partition, span):
        ended = _ended_by(right.consumer, right.since, right.gone, span.until, group)
        alive_until = right.span.until
        if ended is not None:
            alive_until = max(right.span.start, min(alive_until, ended.at))
            if ended is not fault:
                dead_s[ended.number] += right.span.until - alive_until
        granted_s = _granted(right, Span(right.span.start, alive_until), group)
        member = group.names.get(right.consumer, right.consumer)
        waits.append(Wait(member, right.span, granted_s))
    others_s = sum(min(graces_s[number], seconds) for number, seconds in dead_s.items())
    return tuple(waits), others_s


def _granted(right: Right, span: Span, group: Group) -> float:
    if not right.consumer:
        return until_a_boundary(span, group.triggers, group.trigger_s)
    member = group.names.get(right.consumer, "")
    return one_batch(member, span, group.triggers, group.trigger_s)


def one_batch(member: str, span: Span, triggers: Sequence[Trigger], trigger_s: float) -> float:
    """The most of that time that went by between two boundaries of this member."""
    own = sorted((t for t in triggers if t.member == member), key=lambda t: t.began)
    took = [trigger_s]
    for trigger, after in pairwise([*own, None]):
        assert trigger is not None
        until = trigger.until
        # Triggers without data are not reported, so only of one that followed at once is it known
        # that its boundary was the next.
        if after is not None and not trigger.cut_short and after.began - until <= trigger_s:
            until = after.began + after.boundary_s
        took.append(Span(trigger.began, until).shared(span))
    return min(span.seconds, max(took))


def until_a_boundary(span: Span, triggers: Sequence[Trigger], trigger_s: float) -> float:
    """Return how much of that time passed before any member was between two batches."""
    if not any(Span(t.began, t.until).shared(span) for t in triggers):
        return min(span.seconds, trigger_s)
    ends = [t.until for t in triggers if not t.cut_short]
    comings = [at for at in [*ends, *(t.began for t in triggers)] if span.start < at < span.until]
    return min(span.seconds, max(trigger_s, min(comings, default=span.until) - span.start))
