"""Decides the assignment of the option `assign`: exactly the partitions that the option names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from pyspark_zkgroup.errors import SubscriptionError
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols.assign.tenure import TAKEN, refuse_members
from pyspark_zkgroup.protocols.owned import claims
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.claims import Claiming, Moved
from pyspark_zkgroup.protocols.owned.decider import Look, Outlook
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import GroupReader
from pyspark_zkgroup.protocols.owned.member_context import MemberContext


class FixedTarget:
    told = False

    def __init__(
        self, options: Options, agenda: Agenda, reader: GroupReader, first: FirstOffsets
    ) -> None:
        self.assigned = options.topics.assigned
        self.agenda = agenda
        self.reader = reader
        self.first = first
        self.snapshot = Snapshot({}, {})
        self.target = _threads(options, agenda.member.consumer)
        self.notes: tuple[str, ...] = ()
        self._seen = False

    def introduce(self, context: MemberContext) -> bool:
        return self._read(context, lambda: False)

    def look(self, context: MemberContext) -> Look:
        if self._read(context, self.agenda.changed_meanwhile) and not self._seen:
            self._seen = True
            absent = [p for p in self.assigned if not self._exists(p)]
            if absent and self.first.fresh:
                raise SubscriptionError.of(
                    "unknown_assigned", partitions=", ".join(map(str, absent[:10]))
                )
        return Look.DECIDED

    def _read(self, context: MemberContext, changed_meanwhile: Callable[[], bool]) -> bool:
        view = self.reader.look(context.store, changed_meanwhile)
        refuse_members(context)
        self.notes = view.notes
        topics = {
            topic: tuple(n for n in numbers if TopicPartition(topic, n) in self.target)
            for topic, numbers in view.snapshot.topics.items()
        }
        self.snapshot = Snapshot({}, topics)
        self.first.see(topics, view.lives)
        return bool(view.topics_from)

    def _exists(self, partition: TopicPartition) -> bool:
        return partition.partition in self.snapshot.topics.get(partition.topic, ())

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        moved = Moved()
        claims.begin_anew(context, self.first, moved.waiting)
        pending = [p for p in self.assigned if p not in context.holdings.held]
        for partition in [p for p in pending if not self._exists(p)]:
            moved.waiting[partition] = "the cluster does not have it"
            pending.remove(partition)
        Claiming(context, mine, self.first, moved, TAKEN).run(pending)
        # Look again for partitions that are not available now, but not at every call.
        moved.again |= bool(moved.waiting)
        return moved

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        """There is nothing more to do."""

    def outlook(self, plan: Plan | None) -> Outlook:
        del plan
        return Outlook()

    def subscribed(self) -> Collection[TopicPartition]:
        return self.assigned


def _threads(options: Options, consumer: str) -> dict[TopicPartition, ThreadId]:
    """Return each topic's partitions in turn, dealt to as many threads as the topic was given."""
    threads = dict(options.topics.subscription.entries)
    at: dict[str, int] = {}
    found: dict[TopicPartition, ThreadId] = {}
    for partition in options.topics.assigned:
        number = at.get(partition.topic, 0)
        found[partition] = ThreadId(consumer, number % threads[partition.topic])
        at[partition.topic] = number + 1
    return found
