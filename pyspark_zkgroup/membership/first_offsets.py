"""Offsets of partitions about to be claimed; where the group has none, the first position is
written at once.

For all partitions of the topic in one transaction: otherwise a second newcomer would find some of
them set, take the topic for one the group reads already, and start the others at a different place.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, Done, InDoubt, NodeVersion
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.group.positions import StartingOffsets, first_positions
from pyspark_zkgroup.membership.commits import present_offsets, read_offsets
from pyspark_zkgroup.membership.footing import Footing
from pyspark_zkgroup.membership.port import Brokers
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import DisconnectedError

# One transaction must stay below the server's packet limit of 1 MiB.
_CREATES_MAX = 3000
_ROUNDS_MAX = 3
_FIRST = NodeVersion(czxid=0, version=0)
_log = logging.getLogger("pyspark_zkgroup.group")


class FirstOffsets:
    """`fresh` are the topics seen at the first look of a new query: only to them startingOffsets
    applies.
    """

    def __init__(self, starting: StartingOffsets, brokers: Brokers) -> None:
        self.starting = starting
        self.brokers = brokers
        self.topics: Mapping[str, tuple[int, ...]] = {}
        self.fresh: frozenset[str] = frozenset()

    def check(self, f: Footing, topics: Mapping[str, tuple[int, ...]]) -> None:
        """Before anything is written: an offset of the option outside a log is refused."""
        if not self.starting.partitions:
            return
        self.topics = topics
        read_already = {p.topic for p in present_offsets(f, topics)}
        for topic in sorted(set(topics) - read_already):
            self._positions(topic, known_topic=False)

    def read(
        self,
        f: Footing,
        partitions: Collection[TopicPartition],
        waiting: dict[TopicPartition, str],
    ) -> dict[TopicPartition, OffsetRead]:
        """What the offset nodes hold, made first where they are missing. A partition whose first
        position cannot be found now is left out, with the reason in `waiting`.
        """
        offsets: dict[TopicPartition, OffsetRead] = {}
        for _ in range(_ROUNDS_MAX):
            present = present_offsets(f, {p.topic for p in partitions})
            missing = [p for p in partitions if p not in present]
            written: dict[TopicPartition, OffsetRead] = {}
            if missing:
                try:
                    written = self._write(f, sorted({p.topic for p in missing}), present)
                except ServerError as error:
                    waiting.update(
                        (p, f"its first position is not known: {error}") for p in missing
                    )
                    partitions = [p for p in partitions if p in present]
            offsets = read_offsets(f, [p for p in partitions if p not in written])
            offsets.update((p, written[p]) for p in partitions if p in written)
            if len(offsets) == len(partitions):
                break
        return offsets

    def resolve(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, int]:
        """First positions of partitions whose node holds a negative offset, as JVM members reset
        them.
        """
        found: dict[TopicPartition, int] = {}
        for topic in sorted({p.topic for p in partitions}):
            positions = self._positions(topic, known_topic=topic not in self.fresh)
            found.update((p, positions[p]) for p in partitions if p in positions)
        return found

    def _write(
        self, f: Footing, topics: list[str], present: Collection[TopicPartition]
    ) -> dict[TopicPartition, OffsetRead]:
        """What we have made ourselves, which need not be read: its version is 0. Which life of the
        node it is shows at the claim.
        """
        read_already = {p.topic for p in present}
        wanted = {t: [TopicPartition(t, n) for n in self.topics.get(t, ())] for t in topics}
        every = [p for partitions in wanted.values() for p in partitions]
        earliest = self.brokers.earliest(every)
        latest = self.brokers.latest(every)
        requests: list[tuple[Create, ...]] = []
        made: list[dict[TopicPartition, OffsetRead]] = []
        for topic, partitions in wanted.items():
            known_topic = topic not in self.fresh or topic in read_already
            positions = first_positions(
                self.starting,
                known_topic,
                {p: earliest[p] for p in partitions if p in earliest and p in latest},
                {p: latest[p] for p in partitions if p in earliest and p in latest},
            )
            self._rebuild(f, positions, present)
            missing = [p for p in partitions if p in positions and p not in present]
            for at in range(0, len(missing), _CREATES_MAX):
                part = {p: b"%d" % positions[p] for p in missing[at : at + _CREATES_MAX]}
                requests.append(tuple(Create(f.paths.offset(p), raw) for p, raw in part.items()))
                made.append({p: OffsetRead(raw, _FIRST) for p, raw in part.items()})
        written: dict[TopicPartition, OffsetRead] = {}
        for outcome, part_made in zip(f.store.commit(requests), made, strict=True):
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("first positions were not answered")
            if isinstance(outcome, Done):
                written.update(part_made)
            elif outcome.reason == "forbidden":
                raise ServerError(
                    f"No permission to write below {f.paths.offsets}",
                    "Check zookeeper.auth and the nodes' ACL",
                )
        return written

    def _positions(self, topic: str, *, known_topic: bool) -> dict[TopicPartition, int]:
        partitions = [TopicPartition(topic, n) for n in self.topics.get(topic, ())]
        earliest = self.brokers.earliest(partitions)
        latest = self.brokers.latest(partitions)
        both = earliest.keys() & latest.keys()
        return first_positions(
            self.starting,
            known_topic,
            {p: earliest[p] for p in both},
            {p: latest[p] for p in both},
        )

    def _rebuild(
        self,
        f: Footing,
        positions: dict[TopicPartition, int],
        present: Collection[TopicPartition],
    ) -> None:
        """The group's nodes were lost: what this query's checkpoint says is nearer the truth than
        any option.
        """
        for partition in positions:
            remembered = f.holdings.remembered.get(partition)
            if remembered is not None and partition not in present:
                _log.warning(
                    "the group has no offset of %s any more: rebuilt from our own progress, %d",
                    partition,
                    remembered,
                )
                positions[partition] = remembered
