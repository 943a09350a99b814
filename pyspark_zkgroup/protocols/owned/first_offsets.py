"""Offsets of partitions about to be claimed; where the group has none, the first position is
written at once.

For all partitions of the topic in one transaction: otherwise a second newcomer would find some of
them set, take the topic for one the group reads already, and start the others at a different place.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group import obstacle
from pyspark_zkgroup.group.ops import Create, Done, InDoubt, NodeVersion
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.commits import present_offsets, read_offsets
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.protocols.start_lookup import log_skipped, look_up_starts
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.ranges.positions import Starting, StartingTimes, first_positions, skipped
from pyspark_zkgroup.zk.port import DisconnectedError

# How long a partition whose offset node was lost is left to whoever read it last: a running member
# restores it at its next boundary, a stopped one when it is started again.
_RESTORE_S = 60.0
# One transaction must stay below the server's packet limit of 1 MiB.
_CREATES_MAX = 3000
_ROUNDS_MAX = 3
_FIRST = NodeVersion(czxid=0, version=0)
_log = logging.getLogger("pyspark_zkgroup.group")


class FirstOffsets:
    """`fresh` are the topics seen at the first look of a new query: only to them startingOffsets
    applies, and only until the group has offsets of them. `seen` are the partitions that had an
    offset node once. `made_anew` are topics whose positions count the records of an earlier life.
    """

    def __init__(
        self,
        starting: Starting,
        brokers: Brokers,
        losses: Losses,
        in_kafka: KafkaCopy | None = None,
    ) -> None:
        self.starting = starting
        self.brokers = brokers
        self.losses = losses
        self.in_kafka = in_kafka
        self.lives: Mapping[str, int] = {}
        self.topics: Mapping[str, tuple[int, ...]] = {}
        self.fresh: frozenset[str] = frozenset()
        self.seen: set[TopicPartition] = set()
        self.made_anew: set[str] = set()
        self._lost_since: dict[TopicPartition, float] = {}

    def see(self, topics: Mapping[str, tuple[int, ...]], lives: Mapping[str, int]) -> None:
        """A topic may be deleted and made anew between two looks, while we hold it: the number of
        its node tells. One that is missing meanwhile is remembered.
        """
        self.made_anew |= {t for t, life in lives.items() if self.lives.get(t, life) != life}
        self.topics, self.lives = topics, {**self.lives, **lives}

    def check(self, context: MemberContext, topics: Mapping[str, tuple[int, ...]]) -> None:
        """Before anything is written: an offset of the option outside a log is refused, and a time
        that no record has.
        """
        if not self.starting.partitions and not isinstance(self.starting, StartingTimes):
            return
        self.topics = topics
        read_already = {p.topic for p in present_offsets(context, topics)}
        every = [TopicPartition(t, n) for t, numbers in topics.items() for n in numbers]
        read_already |= {p.topic for p in self._stored(every)}
        for topic in sorted(set(topics) - read_already):
            self._positions(topic, known_topic=False)

    def read(
        self,
        context: MemberContext,
        partitions: Collection[TopicPartition],
        waiting: dict[TopicPartition, str],
    ) -> dict[TopicPartition, OffsetRead]:
        """What the offset nodes hold, made first where they are missing. A partition whose first
        position cannot be found now is left out, with the reason in `waiting`.
        """
        offsets: dict[TopicPartition, OffsetRead] = {}
        for _ in range(_ROUNDS_MAX):
            present = present_offsets(context, {p.topic for p in partitions})
            self._note(context, present)
            missing = [p for p in partitions if p not in present]
            written: dict[TopicPartition, OffsetRead] = {}
            if missing:
                try:
                    written = self._write(
                        context, sorted({p.topic for p in missing}), present, waiting
                    )
                except ServerError as error:
                    waiting.update(
                        (p, f"its first position is not known: {error}") for p in missing
                    )
                    partitions = [p for p in partitions if p in present]
            offsets = read_offsets(context, [p for p in partitions if p not in written])
            offsets.update((p, written[p]) for p in partitions if p in written)
            partitions = [p for p in partitions if p not in self._lost_since]
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

    def is_of_another_life(self, partition: TopicPartition, offset: OffsetRead) -> bool:
        """Whether the offset was written before the topic was made: it counts the records of one
        that was deleted. Only where topics stand in ZooKeeper can that be seen.
        """
        return 0 < offset.modified < self.lives.get(partition.topic, 0)

    def begin_anew(
        self,
        context: MemberContext,
        positions: Mapping[TopicPartition, int],
        waiting: dict[TopicPartition, str],
    ) -> dict[TopicPartition, int]:
        """Where to start in topics made anew: at their logs' starts, if losses are allowed. Where a
        log's own mark has told it before, the position is in the new log already.
        """
        if not positions:
            return {}
        try:
            starts = self.brokers.earliest(list(positions))
            ends = self.brokers.ends(list(starts))
            # Last: the answer is given once, and must not be lost with an error of the others.
            seen = self.losses.old_ends(list(positions))
        except ServerError as error:
            waiting.update((p, f"its first position is not known: {error}") for p in positions)
            return {}
        both = sorted(starts.keys() & ends.keys() & seen.keys())
        behind = [p for p in both if positions[p] > starts[p]]
        found = [Gap(p, "recreated", positions[p], starts[p], ends[p], seen[p]) for p in behind]
        self.losses.skip(found, context.holdings.known)
        same = positions.keys() - seen.keys()
        return {p: starts[p] if p in behind else positions[p] for p in (*both, *same)}

    def note_group(self, context: MemberContext) -> None:
        """A topic that the group has offsets of by now is no longer fresh to a member that has not
        read it yet: should its nodes be lost later, `startingOffsets` must not skip what the others
        have left to read.
        """
        fresh = self.fresh - {p.topic for p in self.seen}
        if fresh:
            self._note(context, present_offsets(context, fresh))

    def _note(self, context: MemberContext, present: Collection[TopicPartition]) -> None:
        self.seen.update(present)
        for partition in present:
            self._lost_since.pop(partition, None)
        for topic in list(context.holdings.lost_topics):
            if all(TopicPartition(topic, n) in present for n in self.topics.get(topic, (0,))):
                context.holdings.lost_topics.discard(topic)

    def _write(
        self,
        context: MemberContext,
        topics: list[str],
        present: Collection[TopicPartition],
        waiting: dict[TopicPartition, str],
    ) -> dict[TopicPartition, OffsetRead]:
        """What we have made ourselves, which need not be read: its version is 0. Which life of the
        node it is shows at the claim.
        """
        read_already = {p.topic for p in self.seen}
        wanted = {t: [TopicPartition(t, n) for n in self.topics.get(t, ())] for t in topics}
        every = [p for partitions in wanted.values() for p in partitions]
        stored = self._stored([p for p in every if p not in present])
        read_already |= {p.topic for p in stored}
        known = {t for t in topics if t not in self.fresh or t in read_already}
        earliest = self.brokers.earliest(every)
        latest = self.brokers.latest(every)
        times = self._at_times([p for p in every if p.topic not in known])
        both = {
            p
            for p in earliest.keys() & latest.keys()
            if times is None or p.topic in known or p in times
        }
        requests: list[tuple[Create, ...]] = []
        made: list[dict[TopicPartition, OffsetRead]] = []
        for topic, partitions in wanted.items():
            positions = first_positions(
                self.starting,
                topic in known,
                {p: earliest[p] for p in partitions if p in both},
                {p: latest[p] for p in partitions if p in both},
                times or {},
                may_lose=not self.losses.fail,
            )
            missing = [p for p in partitions if p in positions and p not in present]
            positions.update((p, stored[p].offset) for p in missing if p in stored)
            missing = self._rebuild(context, positions, missing, earliest, stored, waiting)
            for at in range(0, len(missing), _CREATES_MAX):
                part = {p: b"%d" % positions[p] for p in missing[at : at + _CREATES_MAX]}
                requests.append(
                    tuple(Create(context.paths.offset(p), raw) for p, raw in part.items())
                )
                made.append({p: OffsetRead(raw, _FIRST) for p, raw in part.items()})
        written: dict[TopicPartition, OffsetRead] = {}
        for outcome, part_made in zip(context.store.commit(requests), made, strict=True):
            if isinstance(outcome, InDoubt):
                raise DisconnectedError("first positions were not answered")
            if isinstance(outcome, Done):
                written.update(part_made)
        starts = {
            p: at.value
            for p, at in written.items()
            if p.topic not in known and at.value is not None
        }
        log_skipped(context.paths.group, skipped(self.starting, starts, earliest))
        return written

    def _positions(self, topic: str, *, known_topic: bool) -> dict[TopicPartition, int]:
        partitions = [TopicPartition(topic, n) for n in self.topics.get(topic, ())]
        return look_up_starts(
            self.brokers,
            self.starting,
            partitions,
            known_topic=known_topic,
            may_lose=not self.losses.fail,
        ).positions

    def _at_times(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None] | None:
        """None where the option gives no times. Asked after the logs' ends: where no record has the
        time, one that comes in between is then read rather than skipped.
        """
        if not isinstance(self.starting, StartingTimes):
            return None
        return self.brokers.at_times(self.starting.of(partitions))

    def _stored(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        return {} if self.in_kafka is None else self.in_kafka.stored(partitions)

    def _rebuild(
        self,
        context: MemberContext,
        positions: dict[TopicPartition, int],
        missing: list[TopicPartition],
        earliest: Mapping[TopicPartition, int],
        stored: Mapping[TopicPartition, StoredOffset],
        waiting: dict[TopicPartition, str],
    ) -> list[TopicPartition]:
        """Where the group's nodes were lost: what this query has done is nearer the truth than any
        option, and what another has done is left to that one for a while. Returns what is to be
        written now.
        """
        holdings, now = context.holdings, context.clock.monotonic()
        for partition in holdings.held.keys() & set(missing):
            # The fence it is held under is gone with the node. Were the new one made, and the
            # connection broken before the proof, a plan would go out that its own replay refuses.
            # The owner node, where it is there still, is found as one of ours at the next look.
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
                left_s = self._lost_since.setdefault(partition, now) + _RESTORE_S - now
                if left_s > 0:
                    waiting[partition] = obstacle.lost_offset(
                        context.paths.offset(partition), left_s
                    )
                    continue
            self._lost_since.pop(partition, None)
            if partition in stored and (position is None or partition in holdings.stale):
                source, position = "Kafka", max(stored[partition].offset, position or 0)
            elif position is None:
                source, position = "the log start, as no other source is known", earliest[partition]
            elif partition in holdings.stale:
                source = "this query's progress before other members took over"
            else:
                source = "this query's progress"
            positions[partition] = position
            written.append(partition)
            _log.warning(
                catalogue.warning("ZKG-102", partition=partition, source=source, offset=position)
            )
        return written
