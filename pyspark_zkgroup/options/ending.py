"""Where a batch read ends, from the options that say so together, and whether it starts before."""

from __future__ import annotations

from typing import Any

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.options.batch_read_options import (
    ENDING_BY_TIMESTAMP,
    ENDING_OFFSETS,
    ENDING_TIMESTAMP,
)
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.starting import starting_option
from pyspark_zkgroup.ranges.endings import Ending, EndingOffsets, EndingTimes
from pyspark_zkgroup.ranges.positions import Starting, StartingOffsets, StartingTimes

_IN_ORDER = "A read starts where it ends, or earlier"


def ending(given: Given) -> Ending:
    at_ms = given.value(ENDING_TIMESTAMP)
    if at_ms is not None:
        return EndingTimes(at_ms)
    times = given.value(ENDING_BY_TIMESTAMP)
    return EndingTimes(None, times) if times else given.value(ENDING_OFFSETS)


def ending_option(given: Given) -> Option[Any]:
    """The one that decides."""
    for option in (ENDING_TIMESTAMP, ENDING_BY_TIMESTAMP):
        if option in given:
            return option
    return ENDING_OFFSETS


def check_order(start: Starting, end: Ending, given: Given) -> None:
    """As far as it can be told without the brokers."""
    both = f"Option {given.shown(starting_option(given))}, but {given.shown(ending_option(given))}"
    of_offsets = isinstance(start, StartingOffsets) and isinstance(end, EndingOffsets)
    of_times = isinstance(start, StartingTimes) and isinstance(end, EndingTimes)
    if not of_offsets and not of_times:
        return
    first_ms, end_ms = getattr(start, "every", None), getattr(end, "every", None)
    if first_ms is not None and end_ms is not None and first_ms > end_ms:
        raise OptionError(both, _IN_ORDER)
    starts, ends = dict(start.partitions), dict(end.partitions)
    if not starts or not ends:
        return
    different = sorted(starts.keys() ^ ends.keys())
    if different:
        raise OptionError(
            f"{both}: only one of them names {different[0]}", "Name the same partitions in both"
        )
    for partition, first in starts.items():
        if first > ends[partition] >= 0:
            raise OptionError(f"{both}: in {partition}, {first} is after the end", _IN_ORDER)
