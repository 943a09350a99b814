"""Options of batch reads alone: where they end, and whether Spark pushes filters down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import FLAG, Rule
from pyspark_zkgroup.options.starting import (
    TIMESTAMP,
    TIMESTAMPS,
    offsets_by_partition,
    starting_option,
)
from pyspark_zkgroup.options.topics import TopicSelection, check_positions
from pyspark_zkgroup.ranges.endings import TO_LATEST, Ending, EndingOffsets, EndingTimes
from pyspark_zkgroup.ranges.positions import LATEST, Starting, StartingOffsets, StartingTimes


def _ending_offsets(text: str) -> EndingOffsets:
    if text.lower() == "latest":
        return TO_LATEST
    if text.lower() == "earliest":
        raise ValueError("would leave nothing to read")
    return EndingOffsets(offsets_by_partition(text, LATEST))


OFFSETS: Rule[EndingOffsets] = Rule(
    'latest, or a JSON object such as {"orders": {"0": 50, "1": -1}} with the first offset that '
    "is not read, or -1 for latest",
    _ending_offsets,
)

SECTION: Final = Section(__name__, "Batch reads (spark.read)")

ENDING_OFFSETS = SECTION.option(
    "endingOffsets", OFFSETS, TO_LATEST, default_text="latest", in_batch="only"
)
"""Where a batch read ends. JSON must name every partition of the topics read. An end beyond the
log's end is an error, or a warning with failOnDataLoss=false.
"""
ENDING_TIMESTAMP = SECTION.optional("endingTimestamp", TIMESTAMP, in_batch="only")
"""End before the first record of this time or later; in a partition without one, at the end of its
log. Takes precedence over endingOffsetsByTimestamp, and both over endingOffsets.
"""
ENDING_BY_TIMESTAMP: Final = SECTION.option(
    "endingOffsetsByTimestamp", TIMESTAMPS, (), in_batch="only"
)
"""As endingTimestamp, with a time per partition. Must name every partition of the topics read."""
PUSH_FILTERS = SECTION.option("pushFilters", FLAG, False, in_batch="only")
"""true: conditions on topic, partition, offset and timestamp decide what is fetched from the
brokers. Requires Spark 4.1 or later, and
`spark.conf.set('spark.sql.python.filterPushdown.enabled', 'true')`: without that, Spark refuses
every read with this option.
"""


@dataclass(frozen=True, slots=True)
class BatchRead:
    """`ignored` are the given options that only a stream uses, with their values."""

    ending: Ending
    push_filters: bool
    ignored: tuple[str, ...] = ()


def batch_read(
    given: Given, start: Starting, topics: TopicSelection, *, in_batch: bool
) -> BatchRead:
    option = given.first(ENDING_TIMESTAMP, ENDING_BY_TIMESTAMP, ENDING_OFFSETS)
    end = _ending(given, option)
    check_positions(option, end.partitions, topics, given)
    _check_order(start, end, option, given)
    idle = [o for o in given.options() if in_batch and o.in_batch == "ignored"]
    return BatchRead(end, given.value(PUSH_FILTERS), tuple(given.shown(option) for option in idle))


def _ending(given: Given, option: Option[Any]) -> Ending:
    if option is ENDING_TIMESTAMP:
        return EndingTimes(given.value(ENDING_TIMESTAMP))
    if option is ENDING_BY_TIMESTAMP:
        return EndingTimes(None, given.value(ENDING_BY_TIMESTAMP))
    return given.value(ENDING_OFFSETS)


def _check_order(start: Starting, end: Ending, option: Option[Any], given: Given) -> None:
    """As far as it can be checked without the brokers."""
    first_shown, end_shown = given.shown(starting_option(given)), given.shown(option)
    of_offsets = isinstance(start, StartingOffsets) and isinstance(end, EndingOffsets)
    of_times = isinstance(start, StartingTimes) and isinstance(end, EndingTimes)
    if not of_offsets and not of_times:
        return
    first_ms, end_ms = getattr(start, "every", None), getattr(end, "every", None)
    if first_ms is not None and end_ms is not None and first_ms > end_ms:
        raise OptionError.of("batch_ends_before_start", start=first_shown, end=end_shown, detail="")
    starts, ends = dict(start.partitions), dict(end.partitions)
    if not starts or not ends:
        return
    different = sorted(starts.keys() ^ ends.keys())
    if different:
        raise OptionError.of(
            "partitions_differ", start=first_shown, end=end_shown, partition=different[0]
        )
    for partition, first in starts.items():
        if first > ends[partition] >= 0:
            raise OptionError.of(
                "batch_ends_before_start",
                start=first_shown,
                end=end_shown,
                detail=f": in {partition}, {first} is after the end",
            )
