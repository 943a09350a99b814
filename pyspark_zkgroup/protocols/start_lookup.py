"""Asks the brokers where partitions start that the group has no offset of."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import NamedTuple

from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.positions import Starting, StartingTimes, first_positions, skipped

_TOPICS_NAMED = 5
_log = logging.getLogger("pyspark_zkgroup.group")


class Starts(NamedTuple):
    """First positions, and how many existing records `startingOffsets=latest` skips of each."""

    positions: dict[TopicPartition, int]
    skipped: dict[TopicPartition, int]


def look_up_starts(
    brokers: Brokers,
    starting: Starting,
    partitions: Collection[TopicPartition],
    *,
    known_topic: bool,
    may_lose: bool,
) -> Starts:
    """Return the first positions, without partitions of which a broker did not answer.

    `known_topic`: the group reads the topic already, so the starting option does not apply.
    Timestamps are looked up after the ends of the logs: where no record has the timestamp, one that
    is appended in between is then read rather than skipped.
    """
    earliest = brokers.earliest(partitions)
    latest = brokers.latest(partitions)
    both = earliest.keys() & latest.keys()
    times: Mapping[TopicPartition, int | None] = {}
    if isinstance(starting, StartingTimes) and not known_topic:
        times = brokers.at_times(starting.of(both))
        both &= times.keys()
    positions = first_positions(
        starting,
        known_topic,
        {p: earliest[p] for p in both},
        {p: latest[p] for p in both},
        times,
        may_lose=may_lose,
    )
    return Starts(positions, skipped(starting, positions, earliest))


def log_skipped(group: str, records: Mapping[TopicPartition, int]) -> None:
    """Log what a new group does not read: the default position hides records from a first test."""
    if records:
        topics = first_few(sorted({p.topic for p in records}), _TOPICS_NAMED)
        _log.info(
            "Group %s is new to %s: it starts at latest and skips %d existing records. To read "
            "them, set startingOffsets=earliest in a new group",
            *(group, topics, sum(records.values())),
        )
