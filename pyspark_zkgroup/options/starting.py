"""Where reading starts, from the options that say so together, and whether they and the
subscription speak of the same topics.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

from pyspark_zkgroup.errors import OptionError
from pyspark_zkgroup.jvm import patterns
from pyspark_zkgroup.jvm.registration import Subscription
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option
from pyspark_zkgroup.options.reading_options import (
    STARTING_BY_TIMESTAMP,
    STARTING_OFFSETS,
    STARTING_TIMESTAMP,
    UNMATCHED,
)
from pyspark_zkgroup.options.subscription import SOURCES
from pyspark_zkgroup.options.topic_options import ASSIGN
from pyspark_zkgroup.ranges.positions import Starting, StartingTimes, Unmatched


def starting(given: Given) -> Starting:
    unmatched = cast(Unmatched, given.value(UNMATCHED))
    at_ms = given.value(STARTING_TIMESTAMP)
    if at_ms is not None:
        return StartingTimes(at_ms, unmatched=unmatched)
    times = given.value(STARTING_BY_TIMESTAMP)
    if times:
        return StartingTimes(None, times, unmatched)
    if UNMATCHED in given:
        raise OptionError(
            f"Option {given.shown(UNMATCHED)}, but no starting time is given",
            "Give 'startingTimestamp' or 'startingOffsetsByTimestamp' too, or leave it out",
        )
    return given.value(STARTING_OFFSETS)


def starting_option(given: Given) -> Option[Any]:
    """The one that decides."""
    for option in (STARTING_TIMESTAMP, STARTING_BY_TIMESTAMP):
        if option in given:
            return option
    return STARTING_OFFSETS


def check_topics(
    option: Option[Any],
    partitions: Iterable[tuple[TopicPartition, int]],
    subscription: Subscription,
    given: Given,
) -> None:
    """Each topic that a position is given for is read, and of assigned ones each partition."""
    assigned = given.value(ASSIGN)
    for partition, _ in partitions:
        if assigned is not None and partition not in assigned:
            raise OptionError(
                f"Option {given.shown(option)}, which names {partition}, but {given.shown(ASSIGN)}",
                "Name only partitions that are read",
            )
    for topic in dict.fromkeys(partition.topic for partition, _ in partitions):
        if subscription.is_wildcard:
            matched = patterns.compile_expression(subscription.expression)(topic)
            read = matched == (subscription.pattern == "white_list")
        else:
            read = topic in dict(subscription.entries)
        if not read:
            source = next(source for source in SOURCES if source in given)
            raise OptionError(
                f"Option {given.shown(option)}, which names {topic!r}, but {given.shown(source)}",
                "Name only topics that are read",
            )
