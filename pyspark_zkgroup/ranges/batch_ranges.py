"""Decides what one batch read takes of each partition: its start, its end, and what is gone.

It starts at the group's committed offset or, if there is none, where the options say. The result is
not written anywhere: a batch read leaves the group as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.ranges.endings import TO_LATEST, Ending, ends, option_of
from pyspark_zkgroup.ranges.gaps import Gap, Kind, remedy
from pyspark_zkgroup.ranges.positions import (
    EARLIEST,
    Starting,
    StartingTimes,
    first_positions,
    option_of_start,
)

Offsets = Mapping[TopicPartition, int]
FoundTimes = Mapping[TopicPartition, int | None]

NO_TIMES: Final[FoundTimes] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Logs:
    """The logs of the partitions to read: where each starts, up to where it can be read, and where
    it ends. Under read_committed an open transaction can make the end larger than what can be read.
    """

    starts: Offsets
    latest: Offsets
    ends: Offsets

    def __post_init__(self) -> None:
        if not self.starts.keys() == self.latest.keys() == self.ends.keys():
            raise ValueError("starts, latest offsets and ends are of different partitions")


@dataclass(frozen=True, slots=True)
class Committed:
    """The group's offsets. The set has those committed before their topic was recreated.

    `paths` are their nodes, if they are in ZooKeeper.
    """

    paths: GroupPaths | None
    offsets: Offsets
    anew: frozenset[TopicPartition] = frozenset()


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that should be read and do not exist; `going_on` says what is read instead."""

    partition: TopicPartition
    what: str
    going_on: str
    remedy: str


@dataclass(frozen=True, slots=True)
class BatchRanges:
    """The ranges to read if `losses` are allowed."""

    ranges: Mapping[TopicPartition, OffsetRange]
    losses: tuple[Loss, ...] = ()


def batch_ranges(
    starting: Starting,
    ending: Ending,
    committed: Committed | None,
    logs: Logs,
    start_times: FoundTimes = NO_TIMES,
    end_times: FoundTimes = NO_TIMES,
) -> BatchRanges:
    """`start_times` are for the partitions without a committed offset, `end_times` for all."""
    losses: list[Loss] = []
    untils = _untils(ending, logs, end_times, losses)
    starts = {} if committed is None else _committed_starts(committed, logs, losses)
    free = {p: start for p, start in logs.starts.items() if p not in starts}
    if isinstance(starting, StartingTimes):
        latest = {p: logs.latest[p] for p in free}
        found = first_positions(starting, False, free, latest, start_times)
        # A record that arrived after the ends were read belongs to the next batch read.
        given = {p: min(start, latest[p]) for p, start in found.items()}
    else:
        given = _given_starts(dict(starting.partitions), free, losses)
    for partition, start in given.items():
        if start > untils[partition]:
            raise OptionError.of(
                "start_beyond_end",
                option=option_of_start(starting),
                start=start,
                partition=partition,
                end=untils[partition],
                by="" if ending == TO_LATEST else f" (option {option_of(ending)!r})",
            )
    starts = {**free, **starts, **given}
    return BatchRanges(
        {p: OffsetRange(start, max(start, untils[p])) for p, start in sorted(starts.items())},
        tuple(sorted(losses, key=lambda loss: loss.partition)),
    )


def _untils(
    ending: Ending, logs: Logs, end_times: FoundTimes, losses: list[Loss]
) -> dict[TopicPartition, int]:
    untils = ends(ending, logs.latest, end_times)
    for partition, until in untils.items():
        latest = logs.latest[partition]
        if until > latest:
            losses.append(
                Loss(
                    partition,
                    f"Option 'endingOffsets' ends at {until} in {partition}, which can be read up "
                    f"to {latest} only",
                    f"reading up to {latest}",
                    "Give an end that is there already, or -1 for latest, or set failOnDataLoss to "
                    "false to read what there is",
                )
            )
            untils[partition] = latest
    return untils


def _committed_starts(
    committed: Committed, logs: Logs, losses: list[Loss]
) -> dict[TopicPartition, int]:
    starts = {}
    for partition, position in committed.offsets.items():
        start, end = logs.starts[partition], logs.ends[partition]
        kind: Kind
        if partition in committed.anew and position > start:
            kind = "recreated"
        elif position > end:
            kind = "beyond"
        elif position < start:
            kind = "passed"
        else:
            starts[partition] = position
            continue
        gap = Gap(partition, kind, position, start, end)
        place = f"the group's offset of {partition} in Kafka"
        if committed.paths is not None:
            place = committed.paths.offset(partition)
        losses.append(Loss(partition, gap.what, gap.going_on, remedy(gap, place)))
        starts[partition] = start
    return starts


def _given_starts(given: Offsets, free: Offsets, losses: list[Loss]) -> dict[TopicPartition, int]:
    """Return the starts that an option gives, of partitions without an offset; omit EARLIEST."""
    starts = {p: given[p] for p in free if given.get(p, EARLIEST) != EARLIEST}
    for partition, position in starts.items():
        start = free[partition]
        if position < start:
            losses.append(
                Loss(
                    partition,
                    f"Option 'startingOffsets' starts at {position} in {partition}, but its log "
                    f"now starts at {start}: {start - position} records are gone",
                    f"reading from the log's start, {start}",
                    "Give an offset that the log still has, or -2 for earliest, or set "
                    "failOnDataLoss to false to continue at the log's start",
                )
            )
            starts[partition] = start
    return starts
