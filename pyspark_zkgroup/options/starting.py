"""Where reading starts, and what happens when records were deleted before they were read."""

from __future__ import annotations

import re
from typing import Any, Final

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import rules
from pyspark_zkgroup.options.given import Given
from pyspark_zkgroup.options.option import Option, Section
from pyspark_zkgroup.options.rules import Rule
from pyspark_zkgroup.options.topics import TopicSelection, check_positions
from pyspark_zkgroup.ranges.positions import (
    EARLIEST,
    LATEST,
    Starting,
    StartingOffsets,
    StartingTimes,
    Unmatched,
)

FROM_EARLIEST: Final = StartingOffsets("earliest")
FROM_LATEST: Final = StartingOffsets("latest")
_WORDS: Final = {"earliest": FROM_EARLIEST, "latest": FROM_LATEST}


def offsets_by_partition(text: str, lowest: int) -> tuple[tuple[TopicPartition, int], ...]:
    if not text.startswith("{"):
        raise ValueError("is neither a word known here nor a JSON object")
    return _numbers_by_partition(text, "offset", lowest)


def _numbers_by_partition(
    text: str, of_what: str, lowest: int
) -> tuple[tuple[TopicPartition, int], ...]:
    """Sorted, from JSON such as {"orders": {"0": 23}}."""
    found: dict[TopicPartition, int] = {}
    for topic, partitions in rules.json_object(text, "topics and their partitions").items():
        rules.topic_name(topic)
        if not isinstance(partitions, dict) or not partitions:
            raise ValueError(
                f"gives {topic!r} {rules.shown(partitions)}, not an object of partitions"
            )
        for number, value in partitions.items():
            if not re.fullmatch("0|[1-9][0-9]{0,9}", number) or int(number) > rules.INT_MAX:
                raise ValueError(f"names the partition {number!r} of {topic!r}")
            if not rules.is_int(value) or not lowest <= value <= rules.LONG_MAX:
                raise ValueError(f"gives the {of_what} {rules.shown(value)} for {topic}-{number}")
            found[TopicPartition(topic, int(number))] = value
    return tuple(sorted(found.items()))


def _starting_offsets(text: str) -> StartingOffsets:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    return StartingOffsets(None, offsets_by_partition(text, EARLIEST))


RESET = rules.meaning_of(
    {"smallest": FROM_EARLIEST, "largest": FROM_LATEST, **_WORDS},
    "smallest or earliest, largest or latest",
)
OFFSETS: Rule[StartingOffsets] = Rule(
    'earliest, latest, or a JSON object such as {"orders": {"0": 23, "1": -2, "2": -1}} with '
    "the next offset to read, or -2 for earliest, or -1 for latest",
    _starting_offsets,
)
TIMESTAMP = rules.whole_number(0, rules.LONG_MAX, "milliseconds since 1970")
TIMESTAMPS: Rule[tuple[tuple[TopicPartition, int], ...]] = Rule(
    'a JSON object such as {"orders": {"0": 1767225600000}} with milliseconds since 1970',
    lambda text: _numbers_by_partition(text, "time", 0),
)

SECTION: Final = Section(__name__, "Where to read")

STARTING_OFFSETS = SECTION.option(
    "startingOffsets", OFFSETS, FROM_LATEST, default_text="latest; in a batch read earliest"
)
"""Where to start in a partition for which the group has no offset. JSON must name every partition
of its topic. Partitions and topics that appear after a query has started begin at earliest,
whatever is set here. latest is not valid in a batch read.
"""
STARTING_TIMESTAMP = SECTION.optional("startingTimestamp", TIMESTAMP)
"""Start at the first record of this time or later, where the group has no offset. Takes precedence
over startingOffsetsByTimestamp, and both over startingOffsets. The timestamp is resolved to
offsets once, and these are written to the group.
"""
STARTING_BY_TIMESTAMP: Final = SECTION.option("startingOffsetsByTimestamp", TIMESTAMPS, ())
"""As startingTimestamp, with a time per partition. Must name every partition of the topics read."""
UNMATCHED: Final[Option[Unmatched]] = SECTION.option(
    "startingOffsetsByTimestampStrategy", rules.one_of("error", "latest"), "error"
)
"""What to do in a partition without a record of the starting time or later. error: the query fails
and names the partition. latest: start at the end of its log.
"""
FAIL_ON_DATA_LOSS = SECTION.option("failOnDataLoss", rules.FLAG, True)
"""What to do when records are gone before they were read: retention has passed the group's offset,
a topic was deleted or recreated, or a log was truncated. true: the query fails with an error that
names partition, offsets and gap. false: the query warns, counts the gap in its progress, and reads
the records that exist, as [Deal with data loss](docs/data-loss.md) explains. A batch read warns and
reads the records that exist.
"""


def starting_option(given: Given) -> Option[Any]:
    """The one that decides."""
    return given.first(STARTING_TIMESTAMP, STARTING_BY_TIMESTAMP, STARTING_OFFSETS)


def starting(given: Given, topics: TopicSelection, *, in_batch: bool) -> Starting:
    option = starting_option(given)
    start = _starting(given, option)
    if in_batch and isinstance(start, StartingOffsets):
        # Where nothing is given a batch read starts at earliest; at latest it would read nothing.
        if option not in given:
            return FROM_EARLIEST
        if start.default == "latest" or any(offset == LATEST for _, offset in start.partitions):
            raise given.clash(
                option,
                "a batch read that starts at latest reads nothing",
                "Give earliest, offsets, or a time",
            )
    check_positions(option, start.partitions, topics, given)
    return start


def _starting(given: Given, option: Option[Any]) -> Starting:
    unmatched = given.value(UNMATCHED)
    if option is STARTING_TIMESTAMP:
        return StartingTimes(given.value(STARTING_TIMESTAMP), unmatched=unmatched)
    if option is STARTING_BY_TIMESTAMP:
        return StartingTimes(None, given.value(STARTING_BY_TIMESTAMP), unmatched)
    given.refuse(
        [UNMATCHED],
        "no starting time is given",
        "Give 'startingTimestamp' or 'startingOffsetsByTimestamp' too, or leave it out",
    )
    return given.value(STARTING_OFFSETS)
