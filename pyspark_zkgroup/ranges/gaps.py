"""Records that are gone before they were read: what a position outside its log means.

Six ways lead there. *Passed*: retention, or a deletion of records, has moved the log's start
beyond the position. *Beyond*: the log ends before the position, so the topic was made anew, or its
log was cut when a broker that lagged was elected. *Anew*: ZooKeeper, or the topic's id, shows that
the topic was made after the offset was written, so the offset means nothing in it, however long its
log is by now. *Truncated*: leader epochs show that the log was cut before the newest end that was
seen of it, however far it has grown since. *Deleted*: the partition is no more, and its newest end
that we saw was not read. *Cut*: the log ends after the position, but before the end that a job
which ends by itself set out to read to.

A truncated log is read on from where it was cut. In the first three going on means the log's start.
For a log that was cut that is more than needed, and what was read comes twice; for a topic made
anew anything else would lose what nobody has read, and without epochs the two look alike. Waiting
for the log to grow up to the position, as if nothing had happened, would lose just that in silence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark_zkgroup.model import TopicPartition

_NAMED_MAX = 10

Kind = Literal["passed", "beyond", "anew", "deleted", "truncated", "cut"]


@dataclass(frozen=True, slots=True)
class Gap:
    """`start` and `end` of the log as it is; of a partition that is no more, as it was last seen
    (a start that nobody has asked for is the position). Of a log that was cut, `end` is what it was
    once, position and start are where it ends now. Of one that was truncated, `start` is where
    reading goes on. `seen` is the newest end of the log before it was truncated, at `cut_at`, or
    made anew.
    """

    partition: TopicPartition
    kind: Kind
    position: int
    start: int
    end: int
    seen: int | None = None
    cut_at: int = 0

    @property
    def lost(self) -> int:
        """Offsets that nobody will read. Where no end was seen nobody can tell."""
        if self.kind == "passed":
            return self.start - self.position
        if self.seen is not None:
            return max(0, self.seen - max(self.position, self.cut_at))
        return self.end - self.position if self.kind in ("deleted", "cut") else 0

    @property
    def what(self) -> str:
        if self.kind == "passed":
            return (
                f"{self.lost} records of {self.partition} were deleted before they were read: the "
                f"group's offset is {self.position}, the log now starts at {self.start} (and ends "
                f"at {self.end})"
            )
        if self.kind == "beyond":
            return (
                f"The group's offset of {self.partition} is {self.position}, but the log ends at "
                f"{self.end} (and starts at {self.start}): the topic was made anew, or its log was "
                f"cut"
            )
        if self.kind == "anew":
            return (
                f"The topic of {self.partition} was made anew after the group's offset, "
                f"{self.position}, was committed: its log starts at {self.start} and ends at "
                f"{self.end}"
                + (f"; {self.lost} records of the old one were not read" if self.lost else "")
            )
        if self.kind == "truncated":
            return (
                f"Offsets {self.cut_at} to {(self.seen or 0) - 1} of {self.partition} are gone, "
                f"{self.lost} of them before they were read: its log was cut (unclean leader "
                f"election). The group's offset is {self.position}, and the log now ends at "
                f"{self.end}"
            )
        if self.kind == "cut":
            return (
                f"{self.lost} records of {self.partition} are gone before they were read, offsets "
                f"{self.position} to {self.end - 1}: the log ended at {self.end} when this query "
                f"began, and now ends at {self.position}: the topic was made anew, or its log was "
                f"cut"
            )
        return (
            f"{self.partition} was deleted with {self.lost} records that nobody has read: the "
            f"group's offset is {self.position}, the log ended at {self.end}"
        )

    @property
    def going_on(self) -> str:
        """What is done about it where data may be lost."""
        if self.kind == "deleted":
            return "reading on without it"
        if self.kind == "cut":
            return f"ending at {self.start}"
        if self.kind == "truncated":
            return f"reading on from {self.start}"
        return f"reading on from the log's start, {self.start}"


def together(whats: Sequence[str]) -> str:
    """What happened to several partitions, in one sentence of bearable length."""
    text = "; ".join(whats[:_NAMED_MAX])
    more = len(whats) - _NAMED_MAX
    return f"{text}; and {more} partitions more" if more > 0 else text


def remedy(gap: Gap, path: str) -> str:
    """For the error; `path` is the node of the group's offset."""
    if gap.kind == "deleted":
        return (
            "Start the query again to read on without it, or set failOnDataLoss to false to go on "
            "by itself"
        )
    if gap.kind == "cut":
        return (
            "Start the query again to read what there is now, or set failOnDataLoss to false to go "
            "on by itself"
        )
    if gap.kind == "truncated" and gap.start == gap.position:
        return (
            "Start the query again to read what there is now, or set failOnDataLoss to false to go "
            "on by itself"
        )
    if gap.kind == "truncated":
        return (
            f"Stop the group's members and set {path} to {gap.start}, where the log was cut, or "
            f"set failOnDataLoss to false to go on from there"
        )
    return (
        f"Stop the group's members and set {path} to an offset from {gap.start} to {gap.end}, or "
        f"set failOnDataLoss to false to go on from the log's start"
    )


def passed(
    positions: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> list[Gap]:
    """Partitions whose start or end is not known now are left for the next time."""
    return [
        Gap(p, "passed", position, starts[p], ends[p])
        for p, position in sorted(positions.items())
        if p in starts and p in ends and position < starts[p] <= ends[p]
    ]


def beyond(
    positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """Positions that their log does not reach, with its end."""
    return {p: ends[p] for p, position in positions.items() if p in ends and position > ends[p]}


def deleted(
    positions: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    gone: set[TopicPartition],
) -> list[Gap]:
    """Of those that are gone, the ones that had something left when they were last looked at."""
    return [
        Gap(p, "deleted", positions[p], positions[p], ends[p])
        for p in sorted(gone)
        if p in positions and p in ends and ends[p] > positions[p]
    ]
