"""What the Delta table holds, without Spark: the files that its log leaves standing, row by row."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pyarrow.parquet as pq

from pyspark_zkgroup.model import TopicPartition
from tests.harness.oracle import Record

Offsets = dict[TopicPartition, Counter[int]]


def offsets_in(table: Path) -> Offsets:
    """How often each offset of each partition is there. For tables whose log still has all its
    commits, as those have that are younger than a month.
    """
    standing: dict[str, TopicPartition] = {}
    commits = sorted((table / "_delta_log").glob("[0-9]*.json"))
    for number, commit in enumerate(commits):
        if int(commit.stem) != number:
            raise ValueError(f"the log of {table} lacks commit {number}")
        for line in commit.read_text("utf-8").splitlines():
            action = json.loads(line)
            if "add" in action:
                values = action["add"]["partitionValues"]
                partition = TopicPartition(values["topic"], int(values["partition"]))
                standing[action["add"]["path"]] = partition
            elif "remove" in action:
                standing.pop(action["remove"]["path"], None)
    found: Offsets = {}
    for path, partition in standing.items():
        column = pq.ParquetFile(table / unquote(path)).read(columns=["offset"])["offset"]
        found.setdefault(partition, Counter()).update(column.to_pylist())
    return found


def places_in(table: Path) -> Counter[Record]:
    """The same as (topic, partition, offset): what an oracle compares with what was produced."""
    held = offsets_in(table)
    return Counter(
        {(p.topic, p.partition, offset): times for p in held for offset, times in held[p].items()}
    )


def ranges_of(offsets: Counter[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for offset in sorted(offsets):
        if found and found[-1][1] == offset:
            found[-1] = (found[-1][0], offset + 1)
        else:
            found.append((offset, offset + 1))
    return found
