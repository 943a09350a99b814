"""How the text of a starting position becomes a value; see values.py."""

from __future__ import annotations

import re

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options.values import (
    INT_MAX,
    LONG_MAX,
    Rule,
    is_int,
    json_object,
    one_of,
    shown,
    topic_name,
    whole_number,
)
from pyspark_zkgroup.ranges.positions import EARLIEST, Reset, StartingOffsets


def _reset(text: str) -> StartingOffsets:
    words: dict[str, Reset] = {
        "smallest": "earliest",
        "earliest": "earliest",
        "largest": "latest",
        "latest": "latest",
    }
    if text.lower() not in words:
        raise ValueError("is not an allowed value")
    return StartingOffsets(words[text.lower()])


def _starting_offsets(text: str) -> StartingOffsets:
    resets: dict[str, Reset] = {"earliest": "earliest", "latest": "latest"}
    if text.lower() in resets:
        return StartingOffsets(resets[text.lower()])
    if not text.startswith("{"):
        raise ValueError("is neither a word known here nor a JSON object")
    return StartingOffsets(None, numbers_by_partition(text, "offset", EARLIEST))


def numbers_by_partition(
    text: str, of_what: str, lowest: int
) -> tuple[tuple[TopicPartition, int], ...]:
    """Sorted, from JSON such as {"orders": {"0": 23}}."""
    found: dict[TopicPartition, int] = {}
    for topic, partitions in json_object(text, "topics and their partitions").items():
        topic_name(topic)
        if not isinstance(partitions, dict) or not partitions:
            raise ValueError(f"gives {topic!r} {shown(partitions)}, not an object of partitions")
        for number, value in partitions.items():
            if not re.fullmatch("0|[1-9][0-9]{0,9}", number) or int(number) > INT_MAX:
                raise ValueError(f"names the partition {number!r} of {topic!r}")
            if not is_int(value) or not lowest <= value <= LONG_MAX:
                raise ValueError(f"gives the {of_what} {shown(value)} for {topic}-{number}")
            found[TopicPartition(topic, int(number))] = value
    return tuple(sorted(found.items()))


def _timestamps(text: str) -> tuple[tuple[TopicPartition, int], ...]:
    return numbers_by_partition(text, "time", 0)


STARTING_OFFSETS: Rule[StartingOffsets] = Rule(
    'earliest, latest, or a JSON object such as {"orders": {"0": 23, "1": -2, "2": -1}} with '
    "the next offset to read, or -2 for earliest, or -1 for latest",
    _starting_offsets,
)
RESET = Rule("smallest or earliest, largest or latest", _reset)
TIMESTAMP = whole_number(0, LONG_MAX, "milliseconds since 1970")
TIMESTAMPS: Rule[tuple[tuple[TopicPartition, int], ...]] = Rule(
    'a JSON object such as {"orders": {"0": 1767225600000}} with milliseconds since 1970',
    _timestamps,
)
UNMATCHED: Rule[str] = one_of("error", "latest")
