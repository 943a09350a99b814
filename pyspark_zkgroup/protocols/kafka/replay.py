"""The first call after a crash, in a group of the brokers: which ranges of the unfinished batch are
read again.

Nothing is in flight, so every rebalance that comes meanwhile is joined at once. It ends when each
range is decided, and what is included is proved to be ours.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.member_settings import KafkaGroupSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.kafka.claims import KafkaClaims
from pyspark_zkgroup.protocols.kafka.holdings import KafkaHoldings
from pyspark_zkgroup.protocols.kafka.kept_member import KeptMember
from pyspark_zkgroup.protocols.kafka.requests import GroupRequests
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset, GroupProgress, replayed
from pyspark_zkgroup.protocols.kafka.rules.member import Member

_LOOK_S = 0.2
_SAID_EVERY_S = 30.0
_log = logging.getLogger("pyspark_zkgroup.group")


class ReplayingMember(Protocol):
    """What a replay needs from the membership that runs it."""

    options: Options
    settings: KafkaGroupSettings
    clock: EventClock
    holdings: KafkaHoldings
    claims: KafkaClaims
    requests: GroupRequests
    kept: KeptMember

    def refresh_topics(self) -> None: ...
    def rejoin(self) -> Member: ...
    def prove(self) -> bool: ...
    def wait(self, timeout_s: float) -> None: ...


class KafkaReplay:
    def __init__(self, membership: ReplayingMember, plan: Plan) -> None:
        self.membership = membership
        self.holdings = membership.holdings
        self.clock = membership.clock
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
        membership = self.membership
        ranges = dict(self.open)
        patience_s = (
            membership.settings.session_timeout_ms + membership.options.group.rebalance_wait_ms
        ) / 1000.0
        move_at = float("inf")
        while True:
            try:
                membership.refresh_topics()
            except ServerError as error:
                self._say(f"the brokers: {error}")
                membership.wait(_LOOK_S)
                continue
            member = membership.rejoin()
            if member.life != self.holdings.life:
                continue
            if member.phase != "stable":
                self._say("the group to be assigned")
                membership.wait(_LOOK_S)
                continue
            self._exclude(self.included - (self.holdings.held & member.assigned), ranges)
            others = self._decide(member)
            if not self.open and membership.prove():
                self.holdings.replayed = set(self.included)
                return frozenset(self.included)
            move_at = min(move_at, self.clock.monotonic() + patience_s)
            if others and self.clock.monotonic() >= move_at:
                _log.warning(
                    catalogue.warning("ZKG-167", partitions=", ".join(map(str, sorted(others))))
                )
                membership.claims.move_fence(member, others)
            elif self.open:
                self._say(f"the members that have {', '.join(map(str, sorted(self.open)))}")
                membership.wait(_LOOK_S)

    def _decide(self, member: Member) -> dict[TopicPartition, GroupOffset]:
        """What is undecided and another's, with what the group holds of it."""
        others: dict[TopicPartition, GroupOffset] = {}
        for partition, committed in self.membership.requests.read(list(self.open)).items():
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
            self.membership.kept.ask_to_join(f"{len(lost)} partitions were given back")

    def _say(self, what: str) -> None:
        now = self.clock.monotonic()
        if now - self._said_at >= _SAID_EVERY_S:
            self._said_at = now
            _log.warning(
                catalogue.warning("ZKG-166", reason=what, group=self.membership.options.group.id)
            )
