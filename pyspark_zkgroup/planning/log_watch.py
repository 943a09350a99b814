"""Detects that held partitions have lost records: compares positions with starts and ends of logs,
and each log with what was seen of it before.

Ends are asked for at every boundary in any case. Starts are asked for when a partition with a
backlog is first held, and then from time to time: in between the task that reads there detects the
loss itself.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import NO_MARK, LogEnd, Mark, TopicPartition
from pyspark_zkgroup.planning.short_logs import ShortLogs, patience_s
from pyspark_zkgroup.planning.vanished import Vanished
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges import gaps, log_marks
from pyspark_zkgroup.ranges.gaps import Gap
from pyspark_zkgroup.ranges.log_marks import Change, SeenEnd, change, cut

_STARTS_EVERY_S = 30.0
_OTHER_EVERY_S = 1.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class LogWatch:
    def __init__(self, brokers: Brokers, clock: Clock) -> None:
        self.brokers = brokers
        self.clock = clock
        self.doubted: frozenset[TopicPartition] = frozenset()
        """Partitions whose log may or may not be the one seen before. They must not be read until
        the brokers have answered.
        """
        self._earlier_since: dict[TopicPartition, float] = {}
        self._asked_at: dict[TopicPartition, float] = {}
        self._seen: dict[TopicPartition, SeenEnd] = {}
        self._positions: dict[TopicPartition, int] = {}
        self._begun_anew: set[TopicPartition] = set()
        self._other_at = float("-inf")
        self._short = ShortLogs(brokers)
        self._vanished = Vanished(brokers)

    def trust(self, positions: Mapping[TopicPartition, tuple[int, Mark]]) -> None:
        """From a checkpoint: take the logs as they were when they were read, or planned to be."""
        for partition, (position, mark) in positions.items():
            self._positions[partition] = position
            self._seen[partition] = SeenEnd(position, mark)

    def mark(self, partition: TopicPartition, until: int) -> Mark:
        """Return the mark for a plan: the log that is read up to `until`."""
        seen = self._seen.get(partition)
        return seen.mark if seen is not None and until <= seen.offset else NO_MARK

    def old_ends(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, int | None]:
        """Return the ends of the old logs, see Losses: only the topic's id tells them from new
        ones.

        A loss that was reported here by the id is not reported again, however late ZooKeeper shows
        it.
        """
        told = self._begun_anew & set(partitions)
        partitions = [p for p in partitions if p not in told]
        ids = {p: self._seen[p].mark.topic_id for p in partitions if p in self._seen}
        ids = {p: topic_id for p, topic_id in ids.items() if topic_id}
        lacking = self.brokers.lacks(ids) if ids else {}
        self._begun_anew -= told
        # It is reported now, and not once more when the logs are compared.
        ends = {p: self._seen.pop(p).offset for p in ids if p in lacking}
        return {p: ends.get(p) for p in partitions if p not in ids or p in lacking}

    def look(
        self,
        positions: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, LogEnd],
        withheld: Collection[TopicPartition] = (),
    ) -> list[Gap]:
        """Return new certain losses. If a broker does not answer, a later look finds them.

        `withheld`: see Standing.
        """
        now = self.clock.monotonic()
        self._short.expect(ends)
        self._forget(positions, withheld)
        try:
            found = self._compare(positions, ends, now)
            gone = {gap.partition for gap in found}
            left = {p: end for p, end in ends.items() if p not in self.doubted | gone}
            return found + self._against_limits(positions, left, now)
        except ServerError as error:
            _log.warning(catalogue.warning("ZKG-111", error=error))
            return []

    def _forget(
        self, positions: Mapping[TopicPartition, int], withheld: Collection[TopicPartition]
    ) -> None:
        """Forget what was seen of a log whose position another client has moved.

        A position that was set back is an operator's. One that was moved on was read by another
        member, perhaps in a later epoch. Nothing is forgotten of what is withheld: it is held, and
        its position is compared later.
        """
        seen, before = self._seen, self._positions
        positions = {p: before[p] for p in withheld if p in before} | dict(positions)
        self._seen = {
            p: seen[p]
            for p, position in positions.items()
            if p in seen and before.get(p, position) <= position <= seen[p].offset
        }
        self._positions = dict(positions)
        self._asked_at = {p: at for p, at in self._asked_at.items() if p in positions}
        self._earlier_since = {p: at for p, at in self._earlier_since.items() if p in self._seen}
        self._begun_anew &= positions.keys()

    def _compare(
        self,
        positions: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, LogEnd],
        now: float,
    ) -> list[Gap]:
        """Compare logs with what was seen of them; ranges/log_marks.py lists what may have
        happened.
        """
        changes = {p: change(self._seen[p].mark, ends[p].mark) for p in ends if p in self._seen}
        later = [p for p, what in changes.items() if what == "later"]
        doubted = {p for p, what in changes.items() if what != "same"}
        # Until the brokers have answered: an error leaves these partitions in doubt.
        self.doubted = frozenset(doubted)
        for partition in ends.keys() - doubted:
            self._adopt(partition, ends[partition])
        found: list[Gap] = []
        if later:
            answers = self.brokers.epoch_ends({p: self._seen[p].mark.epoch for p in later})
            for p, at in sorted(answers.items()):
                gap = None if at is None else cut(p, positions[p], self._seen[p], ends[p], at)
                found += [] if gap is None else [gap]
                if gap is None:
                    self._adopt(p, ends[p])
            doubted -= answers.keys()
        anew = self._other_logs({p: what for p, what in changes.items() if p in doubted}, ends, now)
        if anew:
            starts = self.brokers.earliest(anew)
            for p in sorted(starts):
                gap = log_marks.anew(p, positions[p], self._seen[p], ends[p], starts[p])
                found += [] if gap is None else [gap]
                if gap is None:
                    self._seen[p] = SeenEnd(ends[p].offset, ends[p].mark)
            doubted -= starts.keys()
        self.doubted = frozenset(doubted)
        return found

    def _adopt(self, partition: TopicPartition, end: LogEnd) -> None:
        seen = self._seen.get(partition, SeenEnd(end.offset, end.mark))
        self._seen[partition] = seen.and_then(end)

    def _other_logs(
        self,
        changes: Mapping[TopicPartition, Change],
        ends: Mapping[TopicPartition, LogEnd],
        now: float,
    ) -> list[TopicPartition]:
        """Return the partitions whose topic was certainly recreated."""
        earlier = [p for p, what in changes.items() if what == "earlier"]
        self._earlier_since = {p: self._earlier_since.get(p, now) for p in earlier}
        found = [p for p in earlier if now - self._earlier_since[p] >= patience_s(ends[p])]
        other = {p: self._seen[p].mark.topic_id for p, what in changes.items() if what == "other"}
        if other and now >= self._other_at + _OTHER_EVERY_S:
            self._other_at = now
            lacking = self.brokers.lacks(other)
            found += [p for p in other if lacking.get(p)]
        return found

    def _against_limits(
        self,
        positions: Mapping[TopicPartition, int],
        ends: Mapping[TopicPartition, LogEnd],
        now: float,
    ) -> list[Gap]:
        offsets = {p: end.offset for p, end in ends.items()}
        behind = [
            p
            for p, position in positions.items()
            if position < offsets.get(p, position)
            and now - self._asked_at.get(p, float("-inf")) >= _STARTS_EVERY_S
        ]
        low = {
            p: at
            for p, at in gaps.beyond(positions, offsets).items()
            if p not in self._seen or not self._seen[p].certainly_holds(positions[p], ends[p])
        }
        beyond = self._short.lasting(positions, low, ends, now)
        if not behind and not beyond:
            return []
        starts = self.brokers.earliest([*behind, *beyond])
        self._asked_at.update(dict.fromkeys(behind, now))
        found = gaps.passed(positions, starts, offsets)
        return found + [
            Gap(p, "beyond", positions[p], starts[p], end)
            for p, end in sorted(beyond.items())
            if p in starts
        ]

    def let_go(self, unread: Mapping[TopicPartition, int]) -> None:
        """Take note of partitions that are no longer held and whose topic is no longer read.

        The topic may be deleted, or one broker alone denies it. The newest ends that any look has
        seen decide: a topic that is being deleted has no ends any more, some time before the group
        sees that it is deleted.
        """
        self._vanished.add(unread, {p: seen.offset for p, seen in self._seen.items()})

    def deleted(self, held: Collection[TopicPartition]) -> list[Gap]:
        """Return what the cluster certainly does not have, of released partitions, each once."""
        return self._vanished.deleted(held, self.clock.monotonic())

    def put_off(self, found: Iterable[Gap]) -> None:
        """Do not report these losses now: the next look finds them again, and nothing is read
        before.
        """
        partitions = {gap.partition for gap in found}
        self.doubted |= partitions
        self._asked_at = {p: at for p, at in self._asked_at.items() if p not in partitions}

    def told(self, found: Iterable[Gap]) -> None:
        """Take note of reported losses: what was seen of these logs no longer counts.

        A deletion may be known here before the group sees it.
        """
        for gap in found:
            if gap.kind in ("deleted", "truncated", "recreated", "beyond"):
                self._seen.pop(gap.partition, None)
                self._vanished.forget(gap.partition)
            if gap.kind == "recreated":
                self._begun_anew.add(gap.partition)

    @property
    def unsure(self) -> bool:
        """Return whether a loss is possible but not certain yet.

        Some log ends below its position, or a partition has vanished.
        """
        return bool(self._vanished or self.doubted) or self._short.is_unsure(self.clock.monotonic())
