"""Asks the brokers where partitions start that the group has no offset of."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.positions import Starting, StartingTimes, first_positions


def look_up_starts(
    brokers: Brokers,
    starting: Starting,
    partitions: Collection[TopicPartition],
    *,
    known_topic: bool,
    may_lose: bool,
) -> dict[TopicPartition, int]:
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
    return first_positions(
        starting,
        known_topic,
        {p: earliest[p] for p in both},
        {p: latest[p] for p in both},
        times,
        may_lose=may_lose,
    )
