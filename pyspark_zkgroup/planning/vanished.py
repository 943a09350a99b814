"""Tracks released partitions that the cluster may not have any more, until it is certain.

Either the topic is deleted, or one broker alone denies it, or the partition was only taken from
this member.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges import gaps
from pyspark_zkgroup.ranges.gaps import Gap

_EVERY_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class Vanished:
    def __init__(self, brokers: Brokers) -> None:
        self._brokers = brokers
        self._losses: dict[TopicPartition, Gap] = {}
        self._asked_at = float("-inf")

    def __bool__(self) -> bool:
        return bool(self._losses)

    def add(self, unread: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]) -> None:
        """Take note of those that have records between their position and the newest end seen."""
        self._losses |= {gap.partition: gap for gap in gaps.deleted(unread, ends, set(unread))}

    def forget(self, partition: TopicPartition) -> None:
        self._losses.pop(partition, None)

    def deleted(self, held: Collection[TopicPartition], now: float) -> list[Gap]:
        """Return what the cluster certainly does not have, each once."""
        if not self._losses:
            return []
        self._losses = {p: gap for p, gap in self._losses.items() if p not in held}
        if not self._losses or now < self._asked_at + _EVERY_S:
            return []
        self._asked_at = now
        try:
            lacking = self._brokers.lacks(dict.fromkeys(self._losses, ""))
        except ServerError as error:
            _log.warning(catalogue.warning("ZKG-186", error=error))
            return []
        found = [gap for p, gap in self._losses.items() if lacking.get(p)]
        # A partition that the cluster still has was only taken from this member.
        self._losses = {p: gap for p, gap in self._losses.items() if lacking.get(p) is False}
        return found
