"""Decides by the table's watermarks which files of a micro-batch its commit adds.

The table keeps a watermark for each log: the version of an application transaction, which is the
first offset that the table does not account for yet. Each commit moves the watermarks of its logs
to the ends of the ranges that were read, together with the files. Of two commits that move one
watermark the second fails, reads the watermarks again, and decides again.

So the table holds each record below a watermark once, for any writer: a replay with other ranges, a
member that was paused and wakes up late, two drivers on one checkpoint. Nothing here knows who owns
a partition.

The end of a range counts, not its last row: transaction markers and compaction leave offsets
without records, also whole ranges of them. What no task has read (a replay leaves out what another
member has taken over) moves no watermark.

Rows that were appended through Spark are not accounted for by watermarks. The table keeps a bound
above them for each partition (bounds.py); below it a file is compared with the table's rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, NamedTuple

from pyspark_zkgroup.errors import DeltaError
from pyspark_zkgroup.model import OffsetRange, TopicPartition

ADOPTED = 0
"""The watermark of a log without a topic id, once a log with an id has one."""
NO_BOUNDS: Final[Mapping[TopicPartition, int]] = MappingProxyType({})


class Log(NamedTuple):
    """A partition of one topic. A topic that is deleted and created again has another id, and its
    offsets begin again; the id is empty where brokers do not tell it.
    """

    topic: str
    partition: int
    topic_id: str = ""

    @property
    def without_id(self) -> Log:
        return self._replace(topic_id="")

    @property
    def of(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


Watermarks = Mapping[Log, int]


@dataclass(frozen=True, slots=True)
class ReadRange:
    """Offsets that one task has read, and so has written all records of."""

    log: Log
    range: OffsetRange


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file that a task has written, with records of one log in the order of their offsets."""

    path: str
    log: Log
    first: int
    last: int
    rows: int = 0
    bytes: int = 0
    partition_values: tuple[tuple[str, str | None], ...] = ()
    stats: str = "{}"


@dataclass(frozen=True, slots=True)
class Cut:
    """Of this file only the records from `start` on are added, and of those before `compared` only
    what the table does not have.
    """

    file: WrittenFile
    start: int
    compared: int = 0

    @property
    def looked_at(self) -> OffsetRange:
        """The offsets at which the table may have rows of this file."""
        start = max(self.start, self.file.first)
        return OffsetRange(start, max(start, min(self.compared, self.file.last + 1)))


@dataclass(frozen=True, slots=True)
class Gap:
    """A range that begins beyond the watermark: the table never saw the offsets between."""

    log: Log
    watermark: int
    start: int


@dataclass(frozen=True, slots=True)
class Decision:
    """`advance` holds the application transactions of the commit; without any there is none."""

    add: tuple[WrittenFile, ...] = ()
    cut: tuple[Cut, ...] = ()
    advance: Mapping[Log, int] = field(default_factory=dict)
    present: tuple[ReadRange, ...] = ()
    """Ranges that the table accounts for already, wholly or in part."""
    gaps: tuple[Gap, ...] = ()
    passed: frozenset[TopicPartition] = frozenset()
    """Partitions whose watermark reaches their bound, which has done its work."""


def asked(read: Iterable[ReadRange]) -> frozenset[Log]:
    """Return the logs whose watermarks `decide` looks at."""
    logs = {r.log for r in read}
    return frozenset(logs | {log.without_id for log in logs})


def decide(
    watermarks: Watermarks,
    read: Iterable[ReadRange],
    files: Iterable[WrittenFile],
    bounds: Mapping[TopicPartition, int] = NO_BOUNDS,
) -> Decision:
    """Return what a commit adds and moves where the table has these watermarks and bounds.
    DeltaError where ranges of one log do not continue each other, or its topic id is missing now.
    """
    add: list[WrittenFile] = []
    cut: list[Cut] = []
    advance: dict[Log, int] = {}
    present: list[ReadRange] = []
    gaps: list[Gap] = []
    passed: list[TopicPartition] = []
    ranges = joined(read)
    keep_from: dict[Log, int] = {}
    for log, span in sorted(ranges.items()):
        watermark = _watermark(watermarks, log)
        bound = bounds.get(log.of, 0)
        keep_from[log] = max(watermark or 0, span.start)
        if watermark is not None and watermark > span.start:
            present.append(ReadRange(log, OffsetRange(span.start, min(watermark, span.until))))
        known = watermark is not None or bound > 0
        if known and max(watermark or 0, bound) < span.start:
            gaps.append(Gap(log, max(watermark or 0, bound), span.start))
        if watermark is None or watermark < span.until:
            advance[log] = span.until
            if log.topic_id and watermarks.get(log.without_id) != ADOPTED:
                advance[log.without_id] = ADOPTED
            if 0 < bound <= span.until:
                passed.append(log.of)
    for file in files:
        within = ranges.get(file.log)
        if within is None or not within.start <= file.first <= file.last < within.until:
            raise DeltaError.of("stray_file", path=file.path, log=file.log)
        start, bound = keep_from[file.log], bounds.get(file.log.of, 0)
        if file.first >= max(start, bound):
            add.append(file)
        elif file.last >= start:
            cut.append(Cut(file, start, bound))
    return Decision(tuple(add), tuple(cut), advance, tuple(present), tuple(gaps), frozenset(passed))


def joined(read: Iterable[ReadRange]) -> dict[Log, OffsetRange]:
    """Return the whole range of each log. A partition's range may be split among several tasks."""
    found: dict[Log, OffsetRange] = {}
    for one in sorted(read, key=lambda r: (r.log, r.range.start, r.range.until)):
        before = found.get(one.log)
        if before is None:
            found[one.log] = one.range
        elif before.until == one.range.start:
            found[one.log] = OffsetRange(before.start, one.range.until)
        else:
            raise DeltaError.of("torn_range", log=one.log, before=before, after=one.range)
    return {log: span for log, span in found.items() if len(span) > 0}


def unexplained(
    gaps: Iterable[Gap],
    earliest: Callable[[frozenset[TopicPartition]], Mapping[TopicPartition, int]],
) -> list[Gap]:
    """Return the gaps of which a record may still exist. A gap is explained where the log begins
    behind it: its records are deleted, and the source has reported that loss.
    """
    found = list(gaps)
    if not found:
        return []
    begins = earliest(frozenset(gap.log.of for gap in found))
    return [gap for gap in found if begins.get(gap.log.of, 0) < gap.start]


def _watermark(watermarks: Watermarks, log: Log) -> int | None:
    """Return the log's own watermark, or a later one of the log without an id, which comes from
    brokers that did not tell ids. The first commit with an id adopts that one.
    """
    own = watermarks.get(log)
    if not log.topic_id:
        if own == ADOPTED:
            raise DeltaError.of("no_topic_id", log=log)
        return own
    before = watermarks.get(log.without_id, ADOPTED)
    return own if before == ADOPTED else max(own or 0, before)
