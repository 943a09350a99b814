"""Records that are gone before they were read: what a position outside its log means.

There are six kinds:

- *passed*: retention, or a deletion of records, has moved the log's start beyond the position.
- *beyond*: the log ends before the position. Either the topic was recreated, or the log was cut
  when a broker that lagged was elected.
- *recreated*: ZooKeeper, or the topic's id, shows that the topic was created after the offset was
  written. So the offset means nothing in it, however long its log is by now.
- *truncated*: leader epochs show that the log was cut before the newest end that was seen of it,
  however far it has grown since.
- *deleted*: the partition does not exist any more, and its newest end that was seen was not read.
- *cut*: the log ends after the position, but before the end up to which a job that ends by itself
  has to read.

Reading of a truncated log continues where it was cut. For the first three kinds it continues at the
log's start. For a log that was cut that is more than needed, and some records are read twice; for a
recreated topic anything else would lose unread records, and without epochs the two look alike.
Waiting for the log to grow up to the position would lose exactly those records silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark_zkgroup.catalogue import what_and_remedy
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import TopicPartition

_NAMED_MAX = 10

Kind = Literal["passed", "beyond", "recreated", "deleted", "truncated", "cut"]


@dataclass(frozen=True, slots=True)
class Gap:
    """A loss in one partition. `start` and `end` are those of the log now. Exceptions:

    - deleted: as last seen; a start that was never asked for equals the position.
    - cut: `end` is the former end; position and start are the present end.
    - truncated: `start` is where reading continues.

    `seen` is the newest end of the log before it was truncated, at `cut_at`, or recreated.
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
        """Return how many offsets will never be read. 0 if no end was seen: it is not known
        then.
        """
        if self.kind == "passed":
            return self.start - self.position
        if self.seen is not None:
            return max(0, self.seen - max(self.position, self.cut_at))
        return self.end - self.position if self.kind in ("deleted", "cut") else 0

    @property
    def what(self) -> str:
        return _texts(self, "")[0]

    @property
    def going_on(self) -> str:
        """Return how the query continues with failOnDataLoss=false."""
        if self.kind == "deleted":
            return "reading continues without it"
        if self.kind == "cut":
            return f"reading ends at {self.start}"
        if self.kind == "truncated":
            return f"reading continues at {self.start}"
        return f"reading continues at the start of the log, {self.start}"


def together(whats: Sequence[str]) -> str:
    """Describe several partitions in one sentence of limited length."""
    return first_few(whats, _NAMED_MAX, kind="partition", separator="; ")


def remedy(gap: Gap, path: str) -> str:
    """Return what to do about it; `path` is the node of the group's offset."""
    return _texts(gap, path)[1]


def _texts(gap: Gap, path: str) -> tuple[str, str]:
    facts = {"partition": gap.partition, "offset": gap.position, "end": gap.end}
    if gap.kind == "beyond":
        return what_and_remedy("ZKG-011", "beyond", **facts, start=gap.start, path=path)
    if gap.kind == "deleted":
        return what_and_remedy("ZKG-013", "deleted", **facts, lost=gap.lost)
    if gap.kind == "cut":
        return what_and_remedy("ZKG-013", "cut", **facts, lost=gap.lost, last=gap.end - 1)
    if gap.kind == "truncated":
        facts |= {"first": gap.cut_at, "last": (gap.seen or 0) - 1, "lost": gap.lost}
        if gap.start == gap.position:
            return what_and_remedy("ZKG-013", "truncated_after_offset", **facts)
        return what_and_remedy("ZKG-013", "truncated", **facts, start=gap.start, path=path)
    facts |= {"start": gap.start, "path": path}
    if gap.kind == "passed":
        return what_and_remedy("ZKG-013", "passed", **facts, lost=gap.lost)
    unread = f"; {gap.lost} records of the old topic were not read" if gap.lost else ""
    return what_and_remedy("ZKG-013", "recreated", **facts, unread=unread)


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
