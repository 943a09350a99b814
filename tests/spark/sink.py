"""A sink that only ever adds: one file for each time a batch was delivered, so that a batch
delivered twice is seen twice.

What counts as delivered is a file under its final name, on the disk. The driver writes it, the
tests read it.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pyspark_zkgroup.model import OffsetRange, TopicPartition
from tests.harness.oracle import Record

Ranges = dict[TopicPartition, tuple[OffsetRange, ...]]


@dataclass(frozen=True)
class Delivery:
    """`began`: Spark handed the batch over; `ended`: it is on the disk. In seconds since 1970."""

    sink: str
    batch: int
    began: float
    ended: float
    ranges: Ranges

    def records(self) -> Iterator[Record]:
        for partition, ranges in self.ranges.items():
            for r in ranges:
                for offset in range(r.start, r.until):
                    yield partition.topic, partition.partition, offset

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        return frozenset(self.ranges)


def deliver(
    directory: Path, batch: int, began: float, ended: float, rows: Iterable[Record]
) -> None:
    name = f"{batch:06d}-{uuid.uuid4().hex[:8]}"
    content = {
        "batch": batch,
        "began": began,
        "ended": ended,
        "ranges": [
            [p.topic, p.partition, [[r.start, r.until] for r in ranges]]
            for p, ranges in sorted(ranges_of(rows).items())
        ],
    }
    write_whole(directory / f"{name}.json", json.dumps(content))


def write_whole(path: Path, text: str) -> None:
    """There as a whole and on the disk, or not there."""
    partial = path.with_suffix(".part")
    with partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def ranges_of(rows: Iterable[Record]) -> Ranges:
    """Runs of offsets without a gap; one that comes twice begins a second, overlapping run."""
    offsets: dict[TopicPartition, list[int]] = {}
    for topic, partition, offset in rows:
        offsets.setdefault(TopicPartition(topic, partition), []).append(offset)
    return {p: tuple(_runs(sorted(found))) for p, found in offsets.items()}


class Sink:
    """Reads what is delivered; files never change, so each is read once."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._read: dict[str, Delivery] = {}

    def deliveries(self) -> list[Delivery]:
        """In the order in which they reached the disk."""
        for path in self.directory.glob("*.json"):
            if path.name not in self._read:
                self._read[path.name] = _read(path)
        return sorted(self._read.values(), key=lambda d: d.ended)


def _runs(offsets: list[int]) -> Iterator[OffsetRange]:
    start = until = offsets[0]
    for offset in offsets:
        if offset != until:
            yield OffsetRange(start, until)
            start = offset
        until = offset + 1
    yield OffsetRange(start, until)


def _read(path: Path) -> Delivery:
    content = json.loads(path.read_text(encoding="utf-8"))
    return Delivery(
        sink=path.parent.name,
        batch=content["batch"],
        began=content["began"],
        ended=content["ended"],
        ranges={
            TopicPartition(topic, partition): tuple(OffsetRange(*r) for r in ranges)
            for topic, partition, ranges in content["ranges"]
        },
    )
