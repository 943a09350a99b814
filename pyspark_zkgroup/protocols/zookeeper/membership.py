"""The `zookeeper` protocol: every member computes the same target and claims its owner nodes."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.protocols import notes
from pyspark_zkgroup.protocols.emptiness import Emptiness
from pyspark_zkgroup.protocols.environment import REAL, Surroundings
from pyspark_zkgroup.protocols.owned import claims, commits
from pyspark_zkgroup.protocols.owned.claims import Moved
from pyspark_zkgroup.protocols.owned.group_view import GroupView
from pyspark_zkgroup.protocols.owned.hand_over import outwait_readers
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.membership import OwnerNodeMembership
from pyspark_zkgroup.protocols.owned.nudge import Nudge
from pyspark_zkgroup.protocols.owned.registrations import (
    refuse_conflict,
    refuse_coordinated,
    refuse_unsupported,
)
from pyspark_zkgroup.protocols.port import Brokers, OffsetsInKafka, Standing
from pyspark_zkgroup.protocols.zookeeper.unread import UnreadPartitions

_log = logging.getLogger("pyspark_zkgroup.group")


class ZookeeperMembership(OwnerNodeMembership):
    protocol = "zookeeper"

    def __init__(
        self,
        options: Options,
        brokers: Brokers,
        surroundings: Surroundings = REAL,
        in_kafka: OffsetsInKafka | None = None,
    ) -> None:
        super().__init__(options, brokers, surroundings, in_kafka)
        self.unread = UnreadPartitions(options.strategy, options.order, self.clock)
        self.nudge = Nudge()
        self.emptiness = Emptiness(options.group_id, self.clock)
        self._conflict = ""

    def _introduce(self, context: MemberContext) -> bool:
        view = self.reader.look(context.store, lambda: False)
        refuse_conflict(self.registration, self.consumer, view.snapshot)
        refuse_unsupported(view.snapshot)
        refuse_coordinated(context)
        self._snapshot = view.snapshot
        return bool(view.topics_from)

    def _look(self, context: MemberContext) -> bool:
        """False where there is nothing to decide by: no broker is there to say which partitions
        exist, or the pattern of another member is not supported. What is held stays held.
        """
        view = self.reader.look(context.store, self.keeper.changed_meanwhile)
        holder = view.registrations.get(self.consumer)
        if holder is None:
            self._register_again(context)
            return False
        if holder != context.session:
            path = self.paths.id(self.consumer)
            raise commits.fenced(context, f"{path} is in the hands of another session")
        self._take(view)
        return bool(view.topics_from) and not view.snapshot.unsupported

    def _take(self, view: GroupView) -> None:
        for consumer, reason in view.snapshot.skipped.items():
            if consumer in self._snapshot.skipped:
                continue
            if consumer in view.snapshot.unsupported:
                _log.warning(
                    "[ZKG-119] no partition moves while member %s is registered with a pattern "
                    "that is not supported: %s",
                    consumer,
                    reason,
                )
            else:
                _log.warning(
                    "[ZKG-118] member %s is left out of the assignment: %s", consumer, reason
                )
        self._compare_rules(view.snapshot)
        self._notes = view.notes
        refresh_at = self.clock.monotonic() + self.options.metadata_refresh_ms / 1000.0
        self._refresh_at = float("inf") if view.topics_from == "zookeeper" else refresh_at
        if not view.topics_from:
            return
        self._snapshot = view.snapshot
        self.first.see(view.snapshot.topics, view.lives)
        self._target = target(
            view.snapshot,
            self.options.strategy,
            self.options.order,
            self.options.exclude_internal_topics,
        )

    def _compare_rules(self, snapshot: Snapshot) -> None:
        """Whoever joins beside a living member of another rule is refused. Not so one that comes
        back after a pause, while others have joined by theirs; nor two that join at one moment.
        """
        before = self._conflict
        others = {c: r for c, r in snapshot.members.items() if c != self.consumer}
        self._conflict = conflict(self.registration, others) or ""
        if self._conflict and self._conflict != before:
            _log.warning(
                "[ZKG-181] %s, or nobody reads them. Set partition.assignment.strategy and "
                "partition.assignment.order alike in all members",
                self._conflict,
            )

    def _move(self, context: MemberContext, mine: Mapping[TopicPartition, int]) -> Moved:
        members = self._snapshot.members
        outwait_readers(self.keeper, mine.keys(), members)
        moved = claims.rebalance(context, mine, self._snapshot.topics, self.first, members)
        # What keeps us from claiming is said as such.
        taken = {*moved.owned, *moved.waiting}
        self.unread.look(self._target, taken, self.holdings.held, members)
        missing = notes.missing_topics(self.options.subscription, self.subscribed, self._snapshot)
        self.emptiness.look(mine, missing, self.subscribed)
        return moved

    def _conclude(self, context: MemberContext) -> None:
        now = self.clock.monotonic()
        idle = self.nudge.due(now, self.unread.suspects, self._target, self._snapshot.members)
        if idle:
            self.nudge.run(context, now, idle)

    @property
    def _expected(self) -> str:
        return notes.expected(self.consumer, self._plan, self._snapshot, self._target)

    def _standing(self) -> Standing:
        self.unread.boundary()
        return super()._standing()

    def _all_notes(self) -> tuple[str, ...]:
        told = (self._conflict,) if self._conflict else ()
        return (*super()._all_notes(), *told, *self.unread.named)
