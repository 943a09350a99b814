"""A live group from both sides: its nodes from ZooKeeper, the ends of its logs from the brokers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.cli.counted import listed
from pyspark_zkgroup.cli.kafka_side import KafkaSide, kafka_side
from pyspark_zkgroup.cli.reach import LogEnds, refuse_missing
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.ops import Done
from pyspark_zkgroup.group.ownership import OffsetRead, parse_offset
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.inspect.report import GroupFacts, report, topics_read
from pyspark_zkgroup.inspect.reset import KeptOffsets, Move, parents, refuse_changed, writes
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.listing import counted
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store


class LiveGroup:
    """Looks as often as it is asked, over the same connections."""

    def __init__(
        self,
        store: Store,
        group: str,
        ends: LogEnds,
        *,
        exclude_internal: bool,
        may_be_new: bool,
    ) -> None:
        self.store = store
        self.ends = ends
        self._exclude_internal = exclude_internal
        self._may_be_new = may_be_new
        self.group = group

    def facts(self) -> GroupFacts:
        from pyspark_zkgroup.inspect.group_reader import read_group, read_topics

        facts = read_group(self.store, self.group, read_topics(self.store))
        if not self._may_be_new:
            refuse_missing(self.store, facts)
        if not facts.topics:
            facts = replace(facts, topics=self.ends.topics())
        return facts

    def look(self) -> GroupReport:
        return self.both()[1]

    def both(self) -> tuple[GroupFacts, GroupReport]:
        """Brokers that are away are a note: the nodes tell enough to be shown without ends."""
        facts = self.facts()
        topics = topics_read(facts, exclude_internal=self._exclude_internal)
        partitions = [
            TopicPartition(topic, number)
            for topic in sorted(topics)
            for number in sorted(facts.topics.get(topic, ()))
        ]
        ends, notes = self.ends.read_or_note(partitions)
        seen = report(facts, ends, exclude_internal=self._exclude_internal)
        return facts, seen.noted(notes)

    def kept(self) -> KeptOffsets:
        facts = self.facts()
        committed = {p: parse_offset(raw) for p, raw in facts.offsets.items()}
        members = tuple(sorted(facts.ids))
        return KeptOffsets(self.group, members, committed, facts.topics, topics_read(facts))

    def refuse_members(self, members: Sequence[str], *, force: bool) -> None:
        if members and not force:
            raise OptionError.of(
                "live_members",
                group=self.group,
                count=counted(len(members), "live member"),
                members=listed(members),
            )

    def in_kafka(self, partitions: Sequence[TopicPartition] | None) -> KafkaSide:
        """What Kafka has of these, or of all that it knows of the group."""
        return kafka_side(self.group, self.ends, partitions)

    def write(self, wanted: Sequence[Move], *, whatever_is_there: bool) -> None:
        """All of a transaction or nothing of it. An offset that is no longer what was shown is
        overwritten only if told so.
        """
        paths = GroupPaths(self.group)
        nodes = self.store.nodes([paths.offset(move.partition) for move in wanted])
        present = {
            move.partition: OffsetRead(node.data, node.node)
            for move, node in zip(wanted, nodes, strict=True)
            if node is not None
        }
        if not whatever_is_there:
            refuse_changed(wanted, {p: node.value for p, node in present.items()})
        self.store.ensure(parents(self.group, wanted))
        parts = writes(self.group, wanted, present)
        outcomes = self.store.commit([transaction for _, transaction in parts])
        for (part, _), outcome in zip(parts, outcomes, strict=True):
            if not isinstance(outcome, Done):
                raise ServerError.of(
                    "offsets_not_set",
                    first=part[0].partition,
                    last=part[-1].partition,
                    outcome=outcome,
                )
