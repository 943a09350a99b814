"""What the answers to a member's requests change of what it knows and holds, as values.

`Holdings.apply` applies them. None if an answer is not conclusive: the nodes are read again.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace

from pyspark_zkgroup.group.ops import Done, InDoubt, Outcome
from pyspark_zkgroup.group.ownership import Held, Known
from pyspark_zkgroup.group.settle import NotHeld, Resolution, Verdict
from pyspark_zkgroup.model import TopicPartition


class Fate(enum.Enum):
    CLAIMED = "this member reads it from here on"
    UNHELD = "its owner node is gone, no member took over: to be settled without owning it"
    PARKED = "a JVM owner's next commit or end decides"
    SET_ASIDE = "not held, and no other member is known to read it"
    HANDED_ON = "another member reads on from here, or has done so"
    NODE_LOST = "the offset node is gone: what this query knows is made the group's again"


@dataclass(frozen=True, slots=True)
class Change:
    """`doubtful`: the owner node may exist, or be created later."""

    partition: TopicPartition
    fate: Fate | None = None
    known: Known | None = None
    held: Held | None = None
    doubtful: bool = False


def committed(partition: TopicPartition, known: Known, outcome: Outcome) -> Change:
    if isinstance(outcome, Done):
        return Change(partition, known=Known(outcome.written[0], known.done, known.done))
    doubt = known.done if isinstance(outcome, InDoubt) else None
    return Change(partition, known=replace(known, doubt=doubt))


def settled(partition: TopicPartition, known: Known, outcome: Outcome) -> Change:
    if isinstance(outcome, Done):
        return Change(partition, Fate.SET_ASIDE)
    return committed(partition, known, outcome)


_NOT_SETTLED = {
    NotHeld.LATER: Fate.PARKED,
    NotHeld.FORGET: Fate.HANDED_ON,
    NotHeld.REBUILD: Fate.NODE_LOST,
}


def not_settled(partition: TopicPartition, decided: NotHeld) -> Change:
    return Change(partition, _NOT_SETTLED[decided])


def claimed(partition: TopicPartition, held: Held, start: int, outcome: Outcome) -> Change | None:
    if isinstance(outcome, Done):
        known = Known(outcome.written[-1], start, start)
        return Change(partition, Fate.CLAIMED, known, held)
    if isinstance(outcome, InDoubt) or (outcome.index == 0 and outcome.reason == "exists"):
        # It exists: perhaps by a claim of our own that was sent before, and has arrived only now.
        return Change(partition, doubtful=held.owner_version > 0)
    return None


def released(partition: TopicPartition, outcome: Outcome) -> Change:
    """Refused: another client wrote the offset or deleted it, and it is left unchanged."""
    if isinstance(outcome, InDoubt):
        # It may be released, and another member's already: do not plan it, whatever the lease says.
        return Change(partition, Fate.SET_ASIDE, doubtful=True)
    return Change(partition, Fate.HANDED_ON)


def rethreaded(partition: TopicPartition, thread: int, outcome: Outcome) -> Change | None:
    """What is no longer ours, or is refused, stays unchanged: the proof before the next plan drops
    it.
    """
    if isinstance(outcome, Done):
        return Change(partition, held=Held(thread, outcome.written[0].version))
    return None


def taken_over(partition: TopicPartition, thread: int, outcome: Outcome) -> Change | None:
    if isinstance(outcome, Done):
        return Change(partition, held=Held(thread, outcome.written[-1].version))
    if isinstance(outcome, InDoubt):
        # If it was executed, it has made nodes of our own session. A later attempt would not take
        # them over, and a member that does not read all owner nodes would leave them there.
        return Change(partition, doubtful=True)
    return None


def resolved(
    partition: TopicPartition, known: Known, held: Held | None, value: int, found: Resolution
) -> Change:
    """Return the change after a commit of `value` that was refused or never answered."""
    mine = None if held is None else Held(held.thread, found.owner_version)
    if found.verdict is Verdict.OURS and found.fence is not None:
        return Change(partition, known=Known(found.fence, known.done, value), held=mine)
    if found.verdict is Verdict.AGAIN:
        return Change(partition, known=replace(known, doubt=None), held=mine)
    if found.verdict is Verdict.UNOWNED:
        fence, now = (found.fence, value) if found.fence else (known.fence, known.value)
        return Change(partition, Fate.UNHELD, Known(fence, known.done, now))
    return Change(partition, Fate.NODE_LOST if found.verdict is Verdict.MISSING else Fate.HANDED_ON)
