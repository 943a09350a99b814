"""A live group that the brokers coordinate: looks as often as it is asked."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark_zkgroup.cli.counted import listed
from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.reset import KeptOffsets, Move, refuse_changed
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.listing import counted, similar_names
from pyspark_zkgroup.model import BrokeredGroup

_NOTE = "set by hand"


class BrokeredLive:
    def __init__(self, group: str, ends: LogEnds, *, may_be_new: bool) -> None:
        self.ends = ends
        self._may_be_new = may_be_new
        self.group = group

    def described(self) -> BrokeredGroup | None:
        """None where the brokers have no such group; ServerError where it is not described."""
        for group in self.ends.groups([self.group]):
            if group.trouble:
                raise not_described(group)
            return group
        return None

    def facts(self) -> BrokeredFacts:
        found = self.described()
        offsets = {} if found is None else self.ends.stored(self.group, None)
        facts = BrokeredFacts(found or BrokeredGroup(self.group), offsets, self.ends.topics())
        if not self._may_be_new and not facts.is_there:
            raise missing(self.group, self.ends)
        return facts

    def look(self) -> GroupReport:
        return self.both()[1]

    def both(self) -> tuple[BrokeredFacts, GroupReport]:
        facts = self.facts()
        ends, notes = self.ends.read_or_note(facts.partitions)
        return facts, brokered_report(facts, ends).noted(notes)

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
            raise OptionError.of(
                "live_brokered_members",
                group=self.group,
                count=counted(len(members), "live member"),
                members=listed(members),
            )

    def write(self, wanted: Sequence[Move], *, whatever_is_there: bool) -> None:
        """Partition by partition: what the brokers refuse is named, the rest is set."""
        if not whatever_is_there:
            stored = self.ends.stored(self.group, None)
            refuse_changed(wanted, {p: at.offset for p, at in stored.items()})
        after = {move.partition: move.after for move in wanted}
        refused = self.ends.commit(self.group, after, _NOTE)
        for partition, why in sorted(refused.items())[:1]:
            raise ServerError.of(
                "offsets_refused",
                count=len(refused),
                total=counted(len(wanted), "partition"),
                partition=partition,
                reason=why.reason,
            )


def not_described(group: BrokeredGroup) -> ServerError:
    return ServerError.of(
        "group_not_described",
        group=group.group,
        coordinator=group.coordinator,
        trouble=group.trouble,
    )


def missing(group: str, ends: LogEnds) -> OptionError:
    near = similar_names(group, (one.group for one in ends.groups(None)))
    return OptionError.of("no_brokered_group", group=group, similar=near)
