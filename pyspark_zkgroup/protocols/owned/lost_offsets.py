"""Which offset nodes the group has lost, and what is written in their place, after how long."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group import obstacle
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.owned.member_context import MemberContext

# How long to leave a partition whose offset node was lost to the member that read it last: a
# running member restores it at its next boundary, a stopped one when it is started again.
_RESTORE_S = 60.0
_log = logging.getLogger("pyspark_zkgroup.group")


class LostOffsets:
    """`seen` are partitions that had an offset node once."""

    def __init__(self) -> None:
        self.seen: set[TopicPartition] = set()
        self._since: dict[TopicPartition, float] = {}

    def is_awaited(self, partition: TopicPartition) -> bool:
        """Return whether the member that read it last still has time to restore its node."""
        return partition in self._since

    def note(
        self,
        holdings: Holdings,
        present: Collection[TopicPartition],
        topics: Mapping[str, tuple[int, ...]],
    ) -> None:
        self.seen.update(present)
        for partition in present:
            self._since.pop(partition, None)
        for topic in list(holdings.lost_topics):
            if all(TopicPartition(topic, n) in present for n in topics.get(topic, (0,))):
                holdings.lost_topics.discard(topic)

    def rebuild(
        self,
        context: MemberContext,
        positions: dict[TopicPartition, int],
        missing: list[TopicPartition],
        earliest: Mapping[TopicPartition, int],
        stored: Mapping[TopicPartition, StoredOffset],
        waiting: dict[TopicPartition, str],
    ) -> list[TopicPartition]:
        """Return what to write now if the group's nodes were lost.

        The position of this query is more accurate than any option. Partitions of another query are
        left to it for a while.
        """
        holdings, now = context.holdings, context.clock.monotonic()
        for partition in holdings.held.keys() & set(missing):
            # The fence that it is held under is gone with the node. If a new one were created, and
            # the connection broke before the proof, its own replay would refuse the plan. An
            # existing owner node is found as one of ours at the next look.
            holdings.lose_node(partition)
            holdings.doubtful.add(partition)
        holdings.lost_topics |= {p.topic for p in missing if holdings.position_of(p) is not None}
        written: list[TopicPartition] = []
        for partition in missing:
            position = holdings.position_of(partition)
            if position is None or partition in holdings.stale:
                if partition not in self.seen and partition.topic not in holdings.lost_topics:
                    written.append(partition)
                    continue
                left_s = self._since.setdefault(partition, now) + _RESTORE_S - now
                if left_s > 0:
                    waiting[partition] = obstacle.lost_offset(
                        context.paths.offset(partition), left_s
                    )
                    continue
            self._since.pop(partition, None)
            if partition in stored and (position is None or partition in holdings.stale):
                source, position = "Kafka", max(stored[partition].offset, position or 0)
            elif position is None:
                source, position = "the log start, as no other source is known", earliest[partition]
            elif partition in holdings.stale:
                source = "an old progress of this query (other members read on since)"
            else:
                source = "this query's progress"
            positions[partition] = position
            written.append(partition)
            _log.warning(
                catalogue.warning("ZKG-102", partition=partition, source=source, offset=position)
            )
        return written
