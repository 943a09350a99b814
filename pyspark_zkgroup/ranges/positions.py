"""Where a partition starts for which the group has no committed offset.

In all other cases the group's offset decides (or the checkpoint's, if the group's nodes were lost).
The results are written to the group at once, for all partitions of the topic together, so they are
computed once per topic.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.ranges.times import Times

Reset = Literal["earliest", "latest"]
Unmatched = Literal["error", "latest"]

EARLIEST: Final = -2
LATEST: Final = -1
_NAMED_MAX: Final = 10


@dataclass(frozen=True, slots=True)
class StartingOffsets:
    """`default` applies to partitions that `partitions` does not name; None: all must be named.

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


@dataclass(frozen=True, slots=True)
class StartingTimes(Times):
    """`unmatched` applies to a partition that has no record of its time or later."""

    unmatched: Unmatched = "error"

    @property
    def option(self) -> str:
        """Return the name of the option that gave it, for messages."""
        return "startingOffsetsByTimestamp" if self.partitions else "startingTimestamp"


Starting = StartingOffsets | StartingTimes

_NO_TIMES: Final[Mapping[TopicPartition, int | None]] = MappingProxyType({})


def first_positions(
    starting: Starting,
    known_topic: bool,
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    at_times: Mapping[TopicPartition, int | None] = _NO_TIMES,
    *,
    may_lose: bool = False,
) -> dict[TopicPartition, int]:
    """Return the first position of each of these partitions; both mappings have the same keys.

    Give all partitions of a topic if the group has no offset for any of them. `known_topic` is
    true if the query (or the group) has already planned without these partitions. Then they
    appeared later, and records produced to them before the first look must not be skipped: they
    start at earliest, whatever the option says. `at_times` has the offsets found for
    `StartingTimes.of`: the first of that time or later, or None. `may_lose`: an offset that is gone
    is accepted; what is missing behind it is then reported like any other loss.
    """
    if earliest.keys() != latest.keys():
        raise ValueError("earliest and latest offsets are of different partitions")
    if known_topic:
        return dict(earliest)
    if isinstance(starting, StartingTimes):
        return _positions_at_times(starting, earliest, latest, at_times)
    given = dict(starting.partitions)
    if starting.default is None:
        _check_all_named(starting, earliest.keys())
    others = LATEST if starting.default == "latest" else EARLIEST
    positions = {}
    for partition in sorted(earliest):
        offset = given.get(partition, others)
        if offset == EARLIEST:
            positions[partition] = earliest[partition]
        elif offset == LATEST:
            positions[partition] = latest[partition]
        else:
            low = 0 if may_lose else earliest[partition]
            _check_within(partition, offset, low, latest[partition])
            positions[partition] = offset
    return positions


def skipped(
    starting: Starting,
    positions: Mapping[TopicPartition, int],
    earliest: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Return for each of these first positions how many existing records `latest` skips.

    An offset or a timestamp that a user gives for a partition skips on purpose, and does not count.
    """
    if not isinstance(starting, StartingOffsets):
        return {}
    given = dict(starting.partitions)
    others = LATEST if starting.default == "latest" else EARLIEST
    return {
        p: at - earliest[p]
        for p, at in sorted(positions.items())
        if given.get(p, others) == LATEST and at > earliest[p]
    }


def _positions_at_times(
    starting: StartingTimes,
    earliest: Mapping[TopicPartition, int],
    latest: Mapping[TopicPartition, int],
    at_times: Mapping[TopicPartition, int | None],
) -> dict[TopicPartition, int]:
    wanted = starting.of(earliest)
    if starting.partitions:
        _check_all_named(starting, earliest.keys())
    if wanted.keys() - at_times.keys():
        raise ValueError("a partition's time was not looked up")
    unmatched = sorted(p for p in wanted if at_times[p] is None)
    if unmatched and starting.unmatched == "error":
        times = (f"{wanted[p]} in {p}" for p in unmatched)
        raise OptionError.of(
            "no_record_at_time",
            option=starting.option,
            times=first_few(times, _NAMED_MAX, kind="partition"),
        )
    positions = {}
    for partition in sorted(earliest):
        offset = at_times[partition]
        # The log's start may have moved since the time was looked up.
        positions[partition] = (
            latest[partition] if offset is None else max(offset, earliest[partition])
        )
    return positions


def check_partitions(starting: Starting, topics: Mapping[str, Sequence[int]]) -> None:
    """Check the partitions that a new query names, before anything is written.

    Like in Spark's Kafka source each named partition must exist, and each existing one be named: a
    wrong number must not start a partition at an unintended place. Pass all partitions of the
    topics: one without a leader exists, although its offsets cannot be asked for now.
    """
    present = {TopicPartition(topic, n) for topic, numbers in topics.items() for n in numbers}
    given = dict(starting.partitions)
    absent = sorted(p for p in given if p.topic in topics and p not in present)
    if absent:
        raise OptionError.of(
            "unknown_start_partitions", option=option_of_start(starting), partitions=listed(absent)
        )
    if given and (isinstance(starting, StartingTimes) or starting.default is None):
        _check_all_named(starting, present)


def option_of_start(starting: Starting) -> str:
    """Return the name of the option that gave it, for messages."""
    return starting.option if isinstance(starting, StartingTimes) else "startingOffsets"


def _check_all_named(starting: Starting, present: AbstractSet[TopicPartition]) -> None:
    unnamed = sorted(present - dict(starting.partitions).keys())
    if not unnamed:
        return
    if isinstance(starting, StartingTimes):
        raise OptionError.of("times_not_named", option=starting.option, partitions=listed(unnamed))
    raise OptionError.of("offsets_not_named", partitions=listed(unnamed))


def _check_within(partition: TopicPartition, offset: int, earliest: int, latest: int) -> None:
    if earliest <= offset <= latest:
        return
    where = "beyond its end" if offset > latest else "below its start, no longer kept by the broker"
    raise OptionError.of(
        "offset_outside_log",
        offset=offset,
        partition=partition,
        where=where,
        earliest=earliest,
        latest=latest,
    )


def listed(partitions: list[TopicPartition], most: int = _NAMED_MAX) -> str:
    return first_few(partitions, most)
