"""A live group that the brokers coordinate: looks as often as it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark_zkgroup.cli.counted import counted, listed
from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.reset import KeptOffsets, LogSpan, Move
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import BrokeredGroup, TopicPartition

_NOTE = "set by hand"


class BrokeredLive:
    def __init__(self, group: str, brokers: LogEnds, *, may_be_new: bool) -> None:
        self._brokers = brokers
        self._may_be_new = may_be_new
        self.group = group

    def facts(self) -> BrokeredFacts:
        found = self._brokers.groups([self.group])
        group = found[0] if found else BrokeredGroup(self.group)
        if group.trouble:
            raise ServerError(
                f"The coordinator of group {self.group!r}, {group.coordinator}, did not describe "
                f"it: {group.trouble}",
                "Check that the broker runs, and that this client has the ACL Describe on the "
                "group",
            )
        offsets = self._brokers.stored(self.group, None) if found else {}
        facts = BrokeredFacts(group, offsets, self._brokers.topics())
        if not self._may_be_new and not facts.is_there:
            raise missing(self.group)
        return facts

    def look(self) -> GroupReport:
        return self.both()[1]

    def both(self) -> tuple[BrokeredFacts, GroupReport]:
        facts = self.facts()
        try:
            ends = self._brokers.read(facts.partitions)
        except ServerError as error:
            seen = brokered_report(facts, {})
            return facts, replace(seen, notes=(*seen.notes, f"no ends, so no lag: {error}"))
        return facts, brokered_report(facts, ends)

    def kept(self) -> KeptOffsets:
        facts = self.facts()
        return KeptOffsets(
            self.group,
            tuple(sorted(member.id for member in facts.group.members)),
            {p: stored.offset for p, stored in facts.offsets.items()},
            facts.topics,
            frozenset(p.topic for p in facts.partitions),
        )

    def refuse_members(self, members: Sequence[str], *, force: bool) -> None:
        """Also where it is forced: brokers take offsets of members alone while there are any."""
        if members:
            raise OptionError(
                f"Group {self.group!r} has {counted(len(members), 'live member')}: "
                f"{listed(members)}",
                "Stop them first: while a group has members, the brokers refuse offsets from "
                "anybody else, also with --force",
            )

    def spans(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, LogSpan]:
        return self._brokers.spans(partitions)

    def at(self, partitions: Sequence[TopicPartition], at_ms: int) -> dict[TopicPartition, int]:
        return self._brokers.at_or_end(partitions, at_ms)

    def write(self, wanted: Sequence[Move], *, whatever_is_there: bool) -> None:
        """Partition by partition: what the brokers refuse is named, the rest is set."""
        stored = self._brokers.stored(self.group, None)
        for move in wanted:
            at = stored.get(move.partition)
            now = None if at is None else at.offset
            if now != move.before and not whatever_is_there:
                raise ServerError(
                    f"The offset of {move.partition} was {move.before} and is {now} by now",
                    "Another client changes the group's offsets: look again, and try again",
                )
        after = {move.partition: move.after for move in wanted}
        refused = self._brokers.commit(self.group, after, _NOTE)
        for partition, why in sorted(refused.items())[:1]:
            raise ServerError(
                f"The brokers refused the offsets of {len(refused)} of "
                f"{counted(len(wanted), 'partition')}, {partition} first: {why.reason}",
                "Look at them with `zkgroup offsets show`, and try again",
            )


def missing(group: str) -> OptionError:
    return OptionError(
        f"The brokers coordinate no group {group!r}: it has no member and no offset",
        "`zkgroup groups` lists all; for a group in ZooKeeper give --zookeeper",
    )
