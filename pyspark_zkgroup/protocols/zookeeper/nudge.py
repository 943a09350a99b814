"""Wakes JVM members that have given up.

A JVM member finds its share still owned by us, because our batch outlasts its four attempts. It
releases everything and waits for the next change of ids/ or of a topic. Our release at the boundary
is no such change, since it does not watch owners/. So its whole share would stay unread until a
member joins or leaves. A node that is created and deleted under ids/ in one transaction is visible
to no client and fires every watch. It does not help with a member that assigns by another strategy,
so the pause between two nudges doubles.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.group.ops import Create, Delete
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.owned.member_context import MemberContext

_PAUSE_S_MIN = 10.0
_PAUSE_S_MAX = 600.0
_log = logging.getLogger("pyspark_zkgroup.group")


class Nudge:
    def __init__(self) -> None:
        self._not_before = 0.0
        self._pause_s = _PAUSE_S_MIN

    def due(
        self,
        now: float,
        suspects: Collection[TopicPartition],
        target: Mapping[TopicPartition, ThreadId],
        members: Mapping[str, Registration],
    ) -> set[str]:
        """Return the JVM members whose partitions have no reader, if it is time to wake them."""
        if not suspects:
            self._pause_s = _PAUSE_S_MIN
            return set()
        owners = {target[p].consumer for p in suspects if p in target}
        idle = {c for c in owners if c in members and not members[c].is_zkgroup}
        return idle if now >= self._not_before else set()

    def run(self, context: MemberContext, now: float, idle: Collection[str]) -> None:
        pause_s = self._pause_s
        self._not_before = now + pause_s
        self._pause_s = min(2 * pause_s, _PAUSE_S_MAX)
        node = context.paths.id(f"{context.consumer}-nudge")
        context.store.commit(
            [(Create(node, b"", ephemeral=True, world_open=True), Delete(node, 0))]
        )
        _log.warning(catalogue.warning("ZKG-120", members=", ".join(sorted(idle)), pause_s=pause_s))
