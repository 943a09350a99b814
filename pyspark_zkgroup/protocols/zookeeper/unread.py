"""Logs partitions that have no reader although the target assigns them, once each.

Three boundaries alone can pass within milliseconds. A JVM member needs up to 4 x 2 s to settle, so
that much time must have passed too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.jvm.registration import Registration
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.zookeeper.rules import suspicion

_PATIENCE_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.group")


class UnreadPartitions:
    def __init__(self, strategy: str, order: str, clock: EventClock) -> None:
        self._clock = clock
        self.strategy, self.order = strategy, order
        self.named: list[str] = []
        self.suspects: tuple[TopicPartition, ...] = ()
        self._target: Mapping[TopicPartition, ThreadId] = {}
        self._unowned: Mapping[TopicPartition, ThreadId] = {}
        self._members: Mapping[str, Registration] = {}
        self._unread = suspicion.Unread()
        self._since: dict[TopicPartition, float] = {}
        self._said: set[TopicPartition] = set()

    def look(
        self,
        target: Mapping[TopicPartition, ThreadId],
        owned: Collection[TopicPartition],
        held: Collection[TopicPartition],
        members: Mapping[str, Registration],
    ) -> None:
        self._target = target
        self._members = members
        taken = frozenset(owned) | frozenset(held)
        self._unowned = {p: thread for p, thread in target.items() if p not in taken}

    def boundary(self) -> None:
        if not self._unowned and not self._unread.boundaries:
            # The same as at the last boundary.
            return
        now = self._clock.monotonic()
        self._unread = self._unread.after(self._unowned, ())
        waiting = self._unread.boundaries
        self._since = {p: self._since.get(p, now) for p in waiting}
        suspects = [p for p in self._unread.suspects if now - self._since[p] >= _PATIENCE_S]
        self.suspects = tuple(suspects)
        self._said &= set(suspects)
        self.named = [self._text(p, self._target[p]) for p in suspects[:20]]
        for partition, line in zip(suspects, self.named, strict=False):
            if partition not in self._said:
                self._said.add(partition)
                _log.warning(catalogue.warning("ZKG-121", reason=line))

    def _text(self, partition: TopicPartition, thread: ThreadId) -> str:
        member = self._members.get(thread.consumer)
        if member is not None and member.strategy == self.strategy:
            return suspicion.busy_text(partition, thread)
        return suspicion.text(partition, thread, self.strategy, self.order)
