"""Whether what is held can still be read: positions against the starts and ends of their logs.

Ends are asked for at every boundary anyway. Starts are asked for when a partition with a backlog is
first held, and then now and again: in between the task that reads there finds out by itself.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group import gaps
from pyspark_zkgroup.group.gaps import Gap
from pyspark_zkgroup.membership.port import Brokers
from pyspark_zkgroup.model import TopicPartition

_STARTS_EVERY_S = 30.0
# A leader that was elected just now may not know yet how far the log is committed, and names an
# end that is too low: only what lasts is believed.
_BEYOND_S = 5.0
_VANISHED_EVERY_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class LogWatch:
    def __init__(self, brokers: Brokers, clock: Clock) -> None:
        self.brokers = brokers
        self.clock = clock
        self._beyond_since: dict[TopicPartition, float] = {}
        self._asked_at: dict[TopicPartition, float] = {}
        self._open_until: dict[TopicPartition, float] = {}
        self._seen: dict[TopicPartition, int] = {}
        self._vanished: dict[TopicPartition, Gap] = {}
        self._vanished_at = float("-inf")

    def look(
        self, positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
    ) -> list[Gap]:
        """What is certain by now; a broker that does not answer puts it off."""
        now = self.clock.monotonic()
        seen = {**self._seen, **ends}
        self._seen = {p: seen[p] for p in positions if p in seen}
        self._asked_at = {p: at for p, at in self._asked_at.items() if p in positions}
        behind = [
            p
            for p, position in positions.items()
            if position < ends.get(p, position)
            and now - self._asked_at.get(p, float("-inf")) >= _STARTS_EVERY_S
        ]
        try:
            beyond = self._lasting(positions, gaps.beyond(positions, ends), now)
            if not behind and not beyond:
                return []
            starts = self.brokers.earliest([*behind, *beyond])
        except ServerError as error:
            _log.warning("[ZKG-111] planning without a look at where the logs start: %s", error)
            return []
        self._asked_at.update(dict.fromkeys(behind, now))
        found = gaps.passed(positions, starts, ends)
        return found + [
            Gap(p, "beyond", positions[p], starts[p], end)
            for p, end in sorted(beyond.items())
            if p in starts
        ]

    def let_go(self, unread: Mapping[TopicPartition, int]) -> None:
        """Not held any more, and in no topic that is read: deleted perhaps, or denied by one broker
        alone. Judged by the newest ends that any look has seen: of a topic that is being deleted no
        broker tells the end any more, some time before the group learns of it.
        """
        found = gaps.deleted(unread, self._seen, set(unread))
        self._vanished |= {gap.partition: gap for gap in found}

    def deleted(self, held: Collection[TopicPartition]) -> list[Gap]:
        """Of what was let go, that which the cluster does not have for certain, each once."""
        if not self._vanished:
            return []
        self._vanished = {p: gap for p, gap in self._vanished.items() if p not in held}
        now = self.clock.monotonic()
        if not self._vanished or now < self._vanished_at + _VANISHED_EVERY_S:
            return []
        self._vanished_at = now
        try:
            lacking = self.brokers.lacks(list(self._vanished))
        except ServerError as error:
            _log.warning("[ZKG-186] waiting to learn whether partitions were deleted: %s", error)
            return []
        found = [gap for p, gap in self._vanished.items() if lacking.get(p)]
        # What the cluster has was only taken from this member.
        self._vanished = {p: g for p, g in self._vanished.items() if lacking.get(p) is False}
        return found

    def told(self, found: Iterable[Gap]) -> None:
        """Deletions that are known before the group has learnt of them."""
        for gap in found:
            if gap.kind == "deleted":
                self._seen.pop(gap.partition, None)
                self._vanished.pop(gap.partition, None)

    @property
    def unsure(self) -> bool:
        """Whether some log ends below its position, or a partition has vanished, and it is too
        early to tell why.
        """
        if self._vanished:
            return True
        too_late = self.clock.monotonic() - 2 * _BEYOND_S
        return any(since > too_late for since in self._beyond_since.values())

    def _lasting(
        self,
        positions: Mapping[TopicPartition, int],
        beyond: Mapping[TopicPartition, int],
        now: float,
    ) -> dict[TopicPartition, int]:
        """Those that were so before, and still are. What is readable may also end before the log
        does, at a transaction that is still open: another member, which reads on there, has
        committed behind it.
        """
        if not beyond:
            self._beyond_since, self._open_until = {}, {}
            return {}
        self._beyond_since = {p: at for p, at in self._beyond_since.items() if p in beyond}
        self._open_until = {p: at for p, at in self._open_until.items() if p in beyond and at > now}
        asked = [
            p
            for p in sorted(beyond)
            if p not in self._open_until
            and (p not in self._beyond_since or now - self._beyond_since[p] >= _BEYOND_S)
        ]
        ends = self.brokers.ends(asked) if asked else {}
        lasting: dict[TopicPartition, int] = {}
        for partition, end in ends.items():
            if positions[partition] <= end:
                self._open_until[partition] = now + _BEYOND_S
                self._beyond_since.pop(partition, None)
            elif partition in self._beyond_since:
                lasting[partition] = end
            else:
                self._beyond_since[partition] = now
                _log.warning(
                    "[ZKG-112] %s ends at %d, below the group's offset %d: if that is still so "
                    "in %.0f s, "
                    "the topic was made anew or its log was cut",
                    partition,
                    end,
                    positions[partition],
                    _BEYOND_S,
                )
        return lasting
