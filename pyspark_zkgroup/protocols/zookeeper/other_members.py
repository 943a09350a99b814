"""What the other members of the group do that concerns this one.

They may assign by another rule, register what this member cannot read, or leave their partitions
without a reader.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group.agreement import conflict
from pyspark_zkgroup.group.snapshot import Snapshot
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.owned.member_context import MemberContext
from pyspark_zkgroup.protocols.owned.registrations import (
    refuse_conflict,
    refuse_coordinated,
    refuse_unsupported,
)
from pyspark_zkgroup.protocols.zookeeper.nudge import Nudge
from pyspark_zkgroup.protocols.zookeeper.unread import UnreadPartitions

_log = logging.getLogger("pyspark_zkgroup.group")


class OtherMembers:
    """`own` is this member's registration, which theirs are compared with."""

    def __init__(self, own: Registration, unread: UnreadPartitions) -> None:
        self.own = own
        self.unread = unread
        self.nudge = Nudge()
        self._conflict = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        return (*([self._conflict] if self._conflict else []), *self.unread.named)

    def refuse(self, context: MemberContext, snapshot: Snapshot) -> None:
        """Refuse to join a group in which this member cannot do its part."""
        refuse_conflict(self.own, context.consumer, snapshot)
        refuse_unsupported(snapshot)
        refuse_coordinated(context)

    def compare(self, consumer: str, before: Snapshot, snapshot: Snapshot) -> None:
        """Warn of registrations that cannot be read, and of other rules.

        A member that joins while one of another rule lives is refused. This cannot stop one that
        comes back after a pause in which others joined, nor two that join at the same moment.
        """
        for other, reason in snapshot.skipped.items():
            if other in before.skipped:
                continue
            if other in snapshot.unsupported:
                _log.warning(catalogue.warning("ZKG-119", member=other, reason=reason))
            else:
                _log.warning(catalogue.warning("ZKG-118", member=other, reason=reason))
        known = self._conflict
        others = {c: r for c, r in snapshot.members.items() if c != consumer}
        self._conflict = conflict(self.own, others) or ""
        if self._conflict and self._conflict != known:
            _log.warning(catalogue.warning("ZKG-181", conflict=self._conflict))

    def wake(
        self,
        context: MemberContext,
        target: Mapping[TopicPartition, ThreadId],
        members: Mapping[str, Registration],
    ) -> None:
        """Wake JVM members that have left their partitions without a reader."""
        now = context.clock.monotonic()
        idle = self.nudge.due(now, self.unread.suspects, target, members)
        if idle:
            self.nudge.run(context, now, idle)
