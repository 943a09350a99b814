"""The ranges of offsets that a job was asked for, and how they are cut into steps.

They are looked up once, by the batch reader itself: what it would read if it were asked now. From
then on they are numbers, so that each reader and each later run takes the same records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark_zkgroup.errors import PlanError
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.batch_read import batch_tasks

Ranges = Mapping[TopicPartition, OffsetRange]


def looked_up(options: Mapping[str, str]) -> tuple[dict[TopicPartition, OffsetRange], str]:
    """Partitions with nothing to read are left out. With them, some brokers that know them."""
    found = batch_tasks(parse(options, "batch"))
    ranges: dict[TopicPartition, OffsetRange] = {}
    for wanted in (r for task in found.tasks for r in task.ranges):
        one = ranges.get(wanted.partition, wanted.range)
        ranges[wanted.partition] = OffsetRange(
            min(one.start, wanted.range.start), max(one.until, wanted.range.until)
        )
    return ranges, ",".join(found.settings.bootstrap)


def size(ranges: Ranges) -> int:
    return sum(len(r) for r in ranges.values())


def step(ranges: Ranges, number: int, steps: int) -> dict[TopicPartition, OffsetRange]:
    """Number `number` of `steps` equal parts of each range, from 0 on: together they are it."""
    found = {
        p: OffsetRange(r.start + len(r) * number // steps, r.start + len(r) * (number + 1) // steps)
        for p, r in ranges.items()
    }
    return {p: r for p, r in found.items() if len(r) > 0}


def steps_for(ranges: Ranges, offsets_max: int) -> int:
    return max(1, -(-size(ranges) // offsets_max))


def reading(ranges: Ranges) -> dict[str, str]:
    """Options that mean just these ranges, to this reader and to Spark's own alike."""
    return {
        "assign": json.dumps(_partitions(ranges)),
        "startingOffsets": json.dumps(_numbers({p: r.start for p, r in ranges.items()})),
        "endingOffsets": json.dumps(_numbers({p: r.until for p, r in ranges.items()})),
    }


def without_ranges(options: Mapping[str, str]) -> dict[str, str]:
    """The options without what says which topics are read, and where it starts and ends. A group's
    offsets, where one was named, have been looked up too, and have moved on since.
    """
    ranging = ("starting", "ending", "subscribe", "assign", "group.id", "kafka.group.id")
    return {n: value for n, value in options.items() if not n.lower().startswith(ranging)}


def written(ranges: Ranges) -> dict[str, dict[str, list[int]]]:
    found: dict[str, dict[str, list[int]]] = {}
    for p, r in sorted(ranges.items()):
        found.setdefault(p.topic, {})[str(p.partition)] = [r.start, r.until]
    return found


def read_back(found: Mapping[str, Mapping[str, list[int]]]) -> dict[TopicPartition, OffsetRange]:
    try:
        return {
            TopicPartition(topic, int(number)): OffsetRange(start, until)
            for topic, partitions in found.items()
            for number, (start, until) in partitions.items()
        }
    except (AttributeError, TypeError, ValueError) as error:
        raise PlanError.of("bad_ranges", ranges=repr(found)) from error


def _partitions(ranges: Ranges) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for p in sorted(ranges):
        found.setdefault(p.topic, []).append(p.partition)
    return found


def _numbers(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for p in sorted(offsets):
        found.setdefault(p.topic, {})[str(p.partition)] = offsets[p]
    return found
