"""Where a partition starts for which the group has no committed offset.

Everywhere else the group's offset decides (or the checkpoint's, when the group's nodes were lost).
What comes out of here is written to the group at once, for all partitions of the topic together, so
it is computed once per topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final, Literal

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition

Reset = Literal["earliest", "latest"]

EARLIEST: Final = -2
LATEST: Final = -1


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """`default` is for what `partitions` does not name; None there means that all must be named.

    An offset is the next record to read, or EARLIEST or LATEST.
    """

    default: Reset | None
    partitions: tuple[tuple[TopicPartition, int], ...] = ()

    def __post_init__(self) -> None:
        if self.default not in ("earliest", "latest", None):
            raise ValueError(f"not a starting offset: {self.default!r}")
        if self.default is None and not self.partitions:
            raise ValueError("starting offsets must say where to start")
        named = [partition for partition, _ in self.partitions]
        if named != sorted(set(named)):
            raise ValueError("starting offsets must be sorted and name each partition once")
        if any(offset < EARLIEST for _, offset in self.partitions):
            raise ValueError("a starting offset is below -2")


def first_positions(
    starting: StartingOffsets,
    known_topic: bool,
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """The first position of each of these partitions; the two mappings cover the same ones.

    Give all partitions of a topic when the group has no offset for any of them. `known_topic` is
    true when the query (or the group) has already planned without these partitions: they have
    appeared later, and what was produced to them before anybody looked must not be skipped, so they
    start at earliest whatever the option says.
    """
    if earliest.keys() != latest.keys():
        raise ValueError("earliest and latest offsets are of different partitions")
    if known_topic:
        return dict(earliest)
    given = dict(starting.partitions)
    if starting.default is None:
        _check_all_named(given, earliest.keys())
    others = LATEST if starting.default == "latest" else EARLIEST
    positions = {}
    for partition in sorted(earliest):
        offset = given.get(partition, others)
        if offset == EARLIEST:
            positions[partition] = earliest[partition]
        elif offset == LATEST:
            positions[partition] = latest[partition]
        else:
            _check_within(partition, offset, earliest[partition], latest[partition])
            positions[partition] = offset
    return positions


def check_partitions(starting: StartingOffsets, topics: Mapping[str, Sequence[int]]) -> None:
    """Of a new query, before anything is written: both ways, like Spark's Kafka source.

    A slip in a number must not start a partition somewhere unmeant. Give the topics whole: a
    partition without a leader is there, although its offsets cannot be asked for now.
    """
    present = {TopicPartition(topic, n) for topic, numbers in topics.items() for n in numbers}
    given = dict(starting.partitions)
    absent = sorted(p for p in given if p.topic in topics and p not in present)
    if absent:
        raise OptionError(
            f"Option 'startingOffsets' names {_listed(absent)}, which the cluster does not have",
            "Name partitions that exist, or add partitions to the topic first",
        )
    if starting.default is None:
        _check_all_named(given, present)


def _check_all_named(
    given: Mapping[TopicPartition, int], present: AbstractSet[TopicPartition]
) -> None:
    unnamed = sorted(present - given.keys())
    if unnamed:
        raise OptionError(
            f"Option 'startingOffsets' gives offsets but does not name {_listed(unnamed)}",
            "Name every partition of the topics read: -2 stands for earliest, -1 for latest",
        )


def _check_within(partition: TopicPartition, offset: int, earliest: int, latest: int) -> None:
    if earliest <= offset <= latest:
        return
    where = "beyond its end" if offset > latest else "below its start, no longer kept by the broker"
    raise OptionError(
        f"Option 'startingOffsets' gives offset {offset} for {partition}, which is {where}",
        f"Give an offset from {earliest} to {latest}, or -2 for earliest, or -1 for latest",
    )


def _listed(partitions: list[TopicPartition], most: int = 10) -> str:
    text = ", ".join(map(str, partitions[:most]))
    more = len(partitions) - most
    return f"{text} and {more} more" if more > 0 else text
