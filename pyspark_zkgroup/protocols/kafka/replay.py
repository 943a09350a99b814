"""The first call after a crash, in a group of the brokers: which ranges of the unfinished batch are
read again.

Nothing is in flight, so every rebalance that comes meanwhile is joined at once. It ends when each
range is decided, and what is included is proved to be ours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.kafka.rounds import KafkaRounds
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset, GroupProgress, replayed
from pyspark_zkgroup.protocols.kafka.rules.member import Member

_LOOK_S = 0.2
_SAID_EVERY_S = 30.0
_log = logging.getLogger("pyspark_zkgroup.group")


class KafkaReplay:
    def __init__(self, rounds: KafkaRounds, plan: Plan, patience_s: float) -> None:
        """`patience_s`: for how long a range that is another member's now is waited for."""
        self.rounds = rounds
        self.holdings = rounds.holdings
        self.claims = rounds.claims
        self.kept = rounds.kept
        self.patience_s = patience_s
        self.open: dict[TopicPartition, PlannedRange] = {
            r.partition: r for r in plan.ranges if len(r.range) > 0
        }
        self.included: set[TopicPartition] = set()
        self._said_at = float("-inf")
        for each in plan.ranges:
            if len(each.range) == 0:
                at = each.range.start
                self.holdings.known[each.partition] = GroupProgress.planned(each.fence, at, at)

    def run(self) -> frozenset[TopicPartition]:
        ranges = dict(self.open)
        move_at = float("inf")
        while True:
            try:
                self.rounds.refresh_topics()
            except ServerError as error:
                self._say(f"the brokers: {error}")
                self._wait()
                continue
            member = self.rounds.rejoin()
            if member.life != self.holdings.life:
                continue
            if member.phase != "stable":
                self._say("the group to be assigned")
                self._wait()
                continue
            self._exclude(self.included - (self.holdings.held & member.assigned), ranges)
            others = self._decide(member)
            if not self.open and self.rounds.lease.prove():
                self.holdings.replayed = set(self.included)
                return frozenset(self.included)
            move_at = min(move_at, self.kept.clock.monotonic() + self.patience_s)
            if others and self.kept.clock.monotonic() >= move_at:
                _log.warning(
                    catalogue.warning("ZKG-167", partitions=", ".join(map(str, sorted(others))))
                )
                self.claims.move_fence(member, others)
            elif self.open:
                self._say(f"the members that have {', '.join(map(str, sorted(self.open)))}")
                self._wait()

    def _decide(self, member: Member) -> dict[TopicPartition, GroupOffset]:
        """What is undecided and another's, with what the group holds of it."""
        others: dict[TopicPartition, GroupOffset] = {}
        for partition, committed in self.claims.requests.read(list(self.open)).items():
            planned = self.open[partition]
            mine = partition in member.assigned
            outcome = replayed(planned.range, planned.fence, committed, mine=mine)
            if outcome == "wait":
                others[partition] = committed
                continue
            del self.open[partition]
            if outcome == "include":
                start = planned.range.start
                self.holdings.known[partition] = GroupProgress.planned(planned.fence, start, start)
                self.holdings.held.add(partition)
                self.included.add(partition)
        return others

    def _exclude(
        self, lost: set[TopicPartition], ranges: Mapping[TopicPartition, PlannedRange]
    ) -> None:
        """Taken from us before the batch was begun: decided again, as it now stands."""
        for partition in lost:
            self.included.discard(partition)
            self.holdings.held.discard(partition)
            self.holdings.known.pop(partition, None)
            self.open[partition] = ranges[partition]
        if lost:
            self.kept.ask_to_join(f"{len(lost)} partitions were given back")

    def _wait(self) -> None:
        self.kept.await_change(self.kept.member, _LOOK_S)

    def _say(self, what: str) -> None:
        now = self.kept.clock.monotonic()
        if now - self._said_at >= _SAID_EVERY_S:
            self._said_at = now
            _log.warning(catalogue.warning("ZKG-166", reason=what, group=self.kept.group))
