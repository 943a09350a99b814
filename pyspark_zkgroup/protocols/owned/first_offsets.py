"""Reads offsets of partitions to claim; writes the first positions if the group has none.

They are written for all partitions of the topic in one transaction. Otherwise a second newcomer
would find some of them set, conclude that the group already reads the topic, and start the others
at a different place.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import Create, Done, InDoubt, NodeVersion
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.model import StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.losses import Losses
from pyspark_zkgroup.protocols.owned.commits import present_offsets, read_offsets
from pyspark_zkgroup.protocols.owned.kafka_copy import KafkaCopy
from pyspark_zkgroup.protocols.owned.lost_offsets import LostOffsets
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.protocols.start_lookup import log_skipped, look_up_starts
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.ranges.positions import Starting, StartingTimes, first_positions, skipped
from pyspark_zkgroup.zk.port import DisconnectedError

# One transaction must stay below the server's packet limit of 1 MiB.
_CREATES_MAX = 3000
_ROUNDS_MAX = 3
_FIRST = NodeVersion(czxid=0, version=0)


class FirstOffsets:
    """`fresh` are the topics of the first look of a new query. startingOffsets applies to them
    alone, and only until the group has offsets of them. `made_anew` are topics whose positions
    count the records of an earlier life.
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
        self.made_anew: set[str] = set()
        self.lost = LostOffsets()

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
            self.lost.note(context.holdings, present, self.topics)
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
            partitions = [p for p in partitions if not self.lost.is_awaited(p)]
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
        fresh = self.fresh - {p.topic for p in self.lost.seen}
        if fresh:
            self.lost.note(context.holdings, present_offsets(context, fresh), self.topics)

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
        read_already = {p.topic for p in self.lost.seen}
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
            missing = self.lost.rebuild(context, positions, missing, earliest, stored, waiting)
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
