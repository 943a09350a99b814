"""A live group from both sides: its nodes from ZooKeeper, the ends of its logs from the brokers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.cli.reach import LogEnds, checked_group, store_of
from pyspark_zkgroup.errors import OptionError, ServerError
from pyspark_zkgroup.group.report import GroupFacts, GroupReport, report, topics_read
from pyspark_zkgroup.model import TopicPartition

if TYPE_CHECKING:
    from pyspark_zkgroup.zk.store import Store


class LiveGroup:
    """Looks as often as it is asked, over the same connections."""

    def __init__(self, store: Store, group: str, ends: LogEnds, *, exclude_internal: bool) -> None:
        self._store = store
        self._ends = ends
        self._exclude_internal = exclude_internal
        self.group = group

    def facts(self) -> GroupFacts:
        from pyspark_zkgroup.zk.group_reader import read_group

        facts = read_group(self._store, self.group)
        if not facts.ids and not facts.offsets and not facts.owners:
            raise OptionError(
                f"There is no group {self.group!r}: no member, no owner, no offset",
                "`zkgroup groups` lists all; check the chroot of --zookeeper",
            )
        if not facts.topics:
            facts = replace(facts, topics=self._ends.topics())
        return facts

    def look(self) -> GroupReport:
        """Brokers that are away are a note: the nodes tell enough to be shown without ends."""
        facts = self.facts()
        topics = topics_read(facts, exclude_internal=self._exclude_internal)
        partitions = {
            TopicPartition(topic, number)
            for topic in topics
            for number in facts.topics.get(topic, ())
        }
        try:
            ends = self._ends.read(sorted(partitions))
        except ServerError as error:
            seen = report(facts, {}, exclude_internal=self._exclude_internal)
            return replace(seen, notes=(*seen.notes, f"no ends, so no lag: {error}"))
        return report(facts, ends, exclude_internal=self._exclude_internal)


@contextmanager
def live_group(
    connect: str, bootstrap: str, group: str, *, exclude_internal: bool = True
) -> Iterator[LiveGroup]:
    from pyspark_zkgroup.zk.group_reader import read_brokers

    name = checked_group(group)
    with store_of(connect) as store:
        ends = LogEnds(bootstrap, () if bootstrap else read_brokers(store))
        try:
            yield LiveGroup(store, name, ends, exclude_internal=exclude_internal)
        finally:
            ends.close()
