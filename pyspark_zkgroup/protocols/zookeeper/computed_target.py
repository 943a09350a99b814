"""Computes the assignment in each member: all compute the same target from the same nodes."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.group.snapshot import Snapshot, partitions_of
from pyspark_zkgroup.group.spare import why_spare
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import Registration
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
from pyspark_zkgroup.protocols.owned.registrations import (
    refuse_conflict,
    refuse_coordinated,
    refuse_unsupported,
)
from pyspark_zkgroup.protocols.zookeeper.nudge import Nudge
from pyspark_zkgroup.protocols.zookeeper.unread import UnreadPartitions

_log = logging.getLogger("pyspark_zkgroup.group")


@dataclass(eq=False, repr=False)
class ComputedTarget:
    options: Options
    registration: Registration
    agenda: Agenda
    reader: GroupReader
    first: FirstOffsets
    told: bool = False
    snapshot: Snapshot = field(default_factory=lambda: Snapshot({}, {}))
    target: Mapping[TopicPartition, ThreadId] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    _conflict: str = ""

    def __post_init__(self) -> None:
        clock = self.agenda.member.clock
        self.unread = UnreadPartitions(self.options.group.strategy, self.options.group.order, clock)
        self.nudge = Nudge()
        self.emptiness = Emptiness(self.options.group.id, clock)

    def introduce(self, context: MemberContext) -> bool:
        view = self.reader.look(context.store, lambda: False)
        refuse_conflict(self.registration, context.consumer, view.snapshot)
        refuse_unsupported(view.snapshot)
        refuse_coordinated(context)
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
        for consumer, reason in view.snapshot.skipped.items():
            if consumer in self.snapshot.skipped:
                continue
            if consumer in view.snapshot.unsupported:
                _log.warning(catalogue.warning("ZKG-119", member=consumer, reason=reason))
            else:
                _log.warning(catalogue.warning("ZKG-118", member=consumer, reason=reason))
        self._compare_rules(context.consumer, view.snapshot)
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

    def _compare_rules(self, consumer: str, snapshot: Snapshot) -> None:
        """Warn if another member assigns by another rule.

        A member that joins while one of another rule lives is refused. This cannot stop one that
        comes back after a pause in which others joined, nor two that join at the same moment.
        """
        before = self._conflict
        others = {c: r for c, r in snapshot.members.items() if c != consumer}
        self._conflict = conflict(self.registration, others) or ""
        if self._conflict and self._conflict != before:
            _log.warning(catalogue.warning("ZKG-181", conflict=self._conflict))

    def move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        members = self.snapshot.members
        outwait_readers(self.agenda, mine.keys(), members)
        moved = claims.rebalance(context, mine, self.snapshot.topics, self.first, members)
        # What keeps us from claiming is reported as the reason.
        taken = {*moved.owned, *moved.waiting}
        self.unread.look(self.target, taken, context.holdings.held, members)
        missing = notes.missing_topics(
            self.options.topics.subscription, self.subscribed, self.snapshot.topics
        )
        why = partial(why_spare, self.snapshot, self.registration)
        self.emptiness.look(mine, missing, self.subscribed, why)
        return moved

    def conclude(self, context: MemberContext, waiting: Collection[TopicPartition]) -> None:
        del waiting
        now = context.clock.monotonic()
        idle = self.nudge.due(now, self.unread.suspects, self.target, self.snapshot.members)
        if idle:
            self.nudge.run(context, now, idle)

    def outlook(self, plan: Plan | None) -> Outlook:
        self.unread.boundary()
        consumer = self.agenda.member.consumer
        return Outlook(
            expected=notes.expected(consumer, plan, self.snapshot, self.target),
            remarks=(*([self._conflict] if self._conflict else []), *self.unread.named),
        )

    def subscribed(self) -> Collection[TopicPartition]:
        topics = self.snapshot.topics
        return partitions_of(self.options.topics.subscription, topics, self.reader.hidden)
