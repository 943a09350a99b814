"""Reads offsets of partitions to claim; writes the first positions if the group has none.

They are written for all partitions of the topic in one transaction. Otherwise a second newcomer
would find some of them set, conclude that the group already reads the topic, and start the others
at a different place.
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

# How long to leave a partition whose offset node was lost to the member that read it last: a
# running member restores it at its next boundary, a stopped one when it is started again.
_RESTORE_S = 60.0
# One transaction must stay below the server's packet limit of 1 MiB.
_CREATES_MAX = 3000
_ROUNDS_MAX = 3
_FIRST = NodeVersion(czxid=0, version=0)
_log = logging.getLogger("pyspark_zkgroup.group")


class FirstOffsets:
    """`fresh` are the topics of the first look of a new query. startingOffsets applies to them
    alone, and only until the group has offsets of them. `seen` are partitions that had an offset
    node once. `made_anew` are topics whose positions count the records of an earlier life.
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
        """Note the topics. A topic may be deleted and recreated between two looks while we hold it:
        the number of its node shows it. A topic that is missing meanwhile is remembered.
        """
        self.made_anew |= {t for t, life in lives.items() if self.lives.get(t, life) != life}
        self.topics, self.lives = topics, {**self.lives, **lives}

    def check(self, context: MemberContext, topics: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse, before anything is written, an option's offset outside its log or time without
        record.
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
        """Return the contents of the offset nodes, and create missing ones first.

        A partition whose first position cannot be found now is left out, with the reason in
        `waiting`.
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
        """Return first positions of partitions whose node has a negative offset, like JVM
        members.
        """
        found: dict[TopicPartition, int] = {}
        for topic in sorted({p.topic for p in partitions}):
            positions = self._positions(topic, known_topic=topic not in self.fresh)
            found.update((p, positions[p]) for p in partitions if p in positions)
        return found

    def is_of_another_life(self, partition: TopicPartition, offset: OffsetRead) -> bool:
        """Return whether the offset was written before the topic was created: it belongs to a
        deleted topic. This shows only if topics are in ZooKeeper.
        """
        return 0 < offset.modified < self.lives.get(partition.topic, 0)

    def begin_anew(
        self,
        context: MemberContext,
        positions: Mapping[TopicPartition, int],
        waiting: dict[TopicPartition, str],
    ) -> dict[TopicPartition, int]:
        """Return where to start in recreated topics: at the starts of their logs, if losses are
        allowed. If the mark of a log has shown it before, the position is already in the new log.
        """
        if not positions:
            return {}
        try:
            starts = self.brokers.earliest(list(positions))
            ends = self.brokers.ends(list(starts))
            # Called last: it answers once only, and an error of the others would lose the answer.
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
        """Drop topics from `fresh` once the group has offsets of them.

        If their nodes are lost later, `startingOffsets` must not skip what the other members have
        not read yet.
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
        """Return the nodes that we have created, which need not be read: their version is 0. The
        claim shows which life of the node it is.
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
        """Return None if the option has no times.

        Called after the logs' ends are read: if no record has the time, a record that arrives in
        between is read rather than skipped.
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
