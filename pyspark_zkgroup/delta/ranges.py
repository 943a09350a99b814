"""Puts the offsets that a batch may hold into few and tight boxes.

The boxes become the literals by which Delta finds the files that could hold the batch's records. A
box too many makes every query longer to plan; a box too wide makes it read files it need not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.model import OffsetRange, TopicPartition

BOXES_PER_TOPIC_MAX = 16


@dataclass(frozen=True, slots=True)
class Box:
    """These partitions of a topic, and the offsets from `lowest` to `highest`, both included."""

    topic: str
    partitions: tuple[int, ...]
    lowest: int
    highest: int


def boxes(ranges: Mapping[TopicPartition, OffsetRange]) -> tuple[Box, ...]:
    """Return boxes that cover all the ranges. Partitions whose ranges overlap share a box: in a
    group that reads evenly that is one box, and where one partition lags far behind the others, it
    has its own.
    """
    by_topic: dict[str, list[tuple[int, int, int]]] = {}
    for of, r in ranges.items():
        if len(r) > 0:
            by_topic.setdefault(of.topic, []).append((r.start, r.until, of.partition))
    found = []
    for topic, spans in sorted(by_topic.items()):
        for together in _few(_overlapping(sorted(spans))):
            partitions = tuple(sorted(partition for _, _, partition in together))
            lowest = min(start for start, _, _ in together)
            highest = max(until for _, until, _ in together) - 1
            found.append(Box(topic, partitions, lowest, highest))
    return tuple(found)


def _overlapping(spans: Iterable[tuple[int, int, int]]) -> list[list[tuple[int, int, int]]]:
    grouped: list[list[tuple[int, int, int]]] = []
    end = -1
    for span in spans:
        if grouped and span[0] < end:
            grouped[-1].append(span)
        else:
            grouped.append([span])
        end = max(end, span[1])
    return grouped


def _few(grouped: list[list[tuple[int, int, int]]]) -> list[list[tuple[int, int, int]]]:
    """Merge neighbours until they are few enough."""
    size = -(-len(grouped) // BOXES_PER_TOPIC_MAX)
    return [
        [span for group in grouped[at : at + size] for span in group]
        for at in range(0, len(grouped), size)
    ]
