"""Where a batch read ends: at given offsets, at given times, or at the end of each log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.ranges.positions import LATEST, listed
from pyspark_zkgroup.ranges.times import Times


@dataclass(frozen=True, slots=True)
class EndingOffsets:
    """For each partition the first offset that is not read, or LATEST. Not given: LATEST for
    all."""

    partitions: tuple[tuple[TopicPartition, int], ...] = ()

    def __post_init__(self) -> None:
        named = [partition for partition, _ in self.partitions]
        if named != sorted(set(named)):
            raise ValueError("ending offsets must be sorted and name each partition once")
        if any(offset < LATEST for _, offset in self.partitions):
            raise ValueError("an ending offset is below -1")


@dataclass(frozen=True, slots=True)
class EndingTimes(Times):
    """Ends before the first record of this time or later, or at the log's end if there is none."""

    @property
    def option(self) -> str:
        return "endingOffsetsByTimestamp" if self.partitions else "endingTimestamp"


Ending = EndingOffsets | EndingTimes

TO_LATEST: Final = EndingOffsets()


def option_of(ending: Ending) -> str:
    return ending.option if isinstance(ending, EndingTimes) else "endingOffsets"


def check_ending_partitions(ending: Ending, topics: Mapping[str, Sequence[int]]) -> None:
    """Check that each named partition exists, and each existing one is named, as for starts."""
    named = {partition for partition, _ in ending.partitions}
    if not named:
        return
    present = {TopicPartition(topic, n) for topic, numbers in topics.items() for n in numbers}
    absent = sorted(named - present)
    if absent:
        raise OptionError.of(
            "unknown_partitions", option=option_of(ending), partitions=listed(absent)
        )
    unnamed = sorted(present - named)
    if unnamed:
        raise OptionError.of(
            "partitions_not_named",
            option=option_of(ending),
            partitions=listed(unnamed),
            otherwise=", or set 'endingTimestamp' for all of them"
            if isinstance(ending, EndingTimes)
            else " (-1 means latest)",
        )


def ends(
    ending: Ending,
    latest: Mapping[TopicPartition, int],
    at_times: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    """Return the end of each partition of `latest`.

    A given offset is taken unchanged: whether the log reaches it is checked elsewhere. `at_times`
    has the offsets found for `EndingTimes.of`.
    """
    given: Mapping[TopicPartition, int | None] = (
        at_times if isinstance(ending, EndingTimes) else dict(ending.partitions)
    )
    found = {}
    for partition, end in latest.items():
        offset = given.get(partition)
        if offset is None or offset == LATEST:
            found[partition] = end
        else:
            # By time, a record that arrived after the ends were read may be the first one.
            found[partition] = min(offset, end) if isinstance(ending, EndingTimes) else offset
    return found
