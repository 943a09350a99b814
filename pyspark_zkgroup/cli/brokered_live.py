"""A live group that the brokers coordinate: looks as often as it is asked."""

from __future__ import annotations

from dataclasses import replace

from pyspark_zkgroup.cli.reach import LogEnds
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.inspect.brokered import BrokeredFacts, brokered_report
from pyspark_zkgroup.inspect.rows import GroupReport
from pyspark_zkgroup.model import BrokeredGroup


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


def missing(group: str) -> OptionError:
    return OptionError(
        f"The brokers coordinate no group {group!r}: it has no member and no offset",
        "`zkgroup groups` lists all; for a group in ZooKeeper give --zookeeper",
    )
