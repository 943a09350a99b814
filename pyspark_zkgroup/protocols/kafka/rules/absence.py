"""Since when partitions are missing from the metadata: one answer may come from a broker that lags,
so only what is missing from each answer for some seconds counts as gone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.model import TopicPartition

GONE_AFTER_S = 5.0


def missing_since(
    before: Mapping[TopicPartition, float],
    asked: Collection[TopicPartition],
    topics: Mapping[str, Collection[int]],
    now: float,
) -> dict[TopicPartition, float]:
    """After one more answer: `topics` with their partitions. What it shows is not missing."""
    absent = [p for p in asked if p.partition not in topics.get(p.topic, ())]
    return {p: before.get(p, now) for p in absent}


def gone(since: Mapping[TopicPartition, float], now: float) -> set[TopicPartition]:
    """`now` is the time of the newest answer."""
    return {p for p, at in since.items() if now - at >= GONE_AFTER_S}
