"""Computes the assignment in each member: all compute the same target from the same nodes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from pyspark_zkgroup.group.snapshot import Snapshot, partitions_of
from pyspark_zkgroup.group.spare import why_spare
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.owned import claims, commits
from pyspark_zkgroup.protocols.owned.agenda import Agenda
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.decider import Look, Outlook
from pyspark_zkgroup.protocols.owned.first_offsets import FirstOffsets
from pyspark_zkgroup.protocols.owned.group_view import GroupReader, GroupView
from pyspark_zkgroup.protocols.owned.hand_over import outwait_readers
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.zookeeper.other_members import OtherMembers


@dataclass(eq=False, repr=False)
class ComputedTarget:
    options: Options
    others: OtherMembers
    agenda: Agenda
    reader: GroupReader
    first: FirstOffsets
    told: bool = False
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}))
    target: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.emptiness = Emptiness(self.options.group.id, self.agenda.member.clock)

    def introduce(self, context: MemberContext) -> bool:
        view = self.reader.look(context.store, lambda: False)
        self.others.refuse(context, view.snapshot)
        self.snapshot = view.snapshot
        return bool(view.topics_from)

    def look(self, context: MemberContext) -> Look:
        """Read the group. UNDECIDED if no broker is available to list the partitions, or the
        pattern of another member is not supported.
        """
        view = self.reader.look(context.store, self.agenda.changed_meanwhile)
        holder = view.registrations.get(context.consumer)
        if holder is None:
            return Look.UNREGISTERED
        commits.refuse_another_holder(context, holder)
        self._take(context, view)
        is_decided = view.topics_from and not view.snapshot.unsupported
        return Look.DECIDED if is_decided else Look.UNDECIDED

    def _take(self, context: MemberContext, view: GroupView) -> None:
        self.others.compare(context.consumer, self.snapshot, view.snapshot)
        self.notes = view.notes
        refresh_at = (
            context.clock.monotonic() + self.options.fetch.client.metadata_refresh_ms / 1000.0
        )
        self.agenda.refresh_at = float("inf") if view.topics_from == "zookeeper" else refresh_at
        if not view.topics_from:
            return
        self.snapshot = view.snapshot
        self.first.see(view.snapshot.topics, view.lives)
        self.target = target(
            view.snapshot,
            self.options.group.strategy,
            self.options.group.order,
            self.options.topics.exclude_internal,
        )

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        members = self.snapshot.members
        outwait_readers(self.agenda, mine.keys(), members)
        moved = claims.rebalance(context, mine, self.snapshot.topics, self.first, members)
        # What keeps us from claiming is reported as the reason.
        taken = {*moved.owned, *moved.waiting}
        self.others.unread.look(self.target, taken, context.holdings.held, members)
        missing = notes.missing_topics(
            self.options.topics.subscription, self.subscribed, self.snapshot.topics
        )
        why = partial(why_spare, self.snapshot, self.others.own)
        self.emptiness.look(mine, missing, self.subscribed, why)
        return moved

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        del waiting
        self.others.wake(context, self.target, self.snapshot.members)

    def outlook(self, plan: Plan | None) -> Outlook:
        self.others.unread.boundary()
        consumer = self.agenda.member.consumer
        return Outlook(
            expected=notes.expected(consumer, plan, self.snapshot, self.target),
            remarks=self.others.remarks,
        )

    def subscribed(self) -> Collection[TopicPartition]:
        topics = self.snapshot.topics
        return partitions_of(self.options.topics.subscription, topics, self.reader.hidden)
