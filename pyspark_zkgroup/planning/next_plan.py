"""Makes the plan of the next batch from what is held and from the log ends."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.model import LogEnd, OffsetRange, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.planning import absent_topics
from pyspark_zkgroup.planning.batch_size import BatchSize
from pyspark_zkgroup.planning.boundary import Boundary
from pyspark_zkgroup.planning.fixed_ends import FixedEnds
from pyspark_zkgroup.planning.known_ends import KnownEnds
from pyspark_zkgroup.protocols.port import Brokers
from pyspark_zkgroup.ranges.limits import share

_PROOFS_MAX = 5
_log = logging.getLogger("pyspark_zkgroup.planner")


class NextPlan:
    def __init__(
        self, options: Options, brokers: Brokers, boundary: Boundary, clock: EventClock
    ) -> None:
        self.options = options
        self.brokers = brokers
        self.boundary = boundary
        self.clock = clock
        self.ends = KnownEnds(brokers, clock)
        self.batch_size = BatchSize(options.batches, brokers, clock)
        self.is_available_now = False
        self._fixed: FixedEnds | None = None

    def is_job(self, once: bool) -> bool:
        """Return whether the query ends by itself: such a job cannot wait for more, and reads what
        exists now.
        """
        return once or self.is_available_now

    def begin_job(self) -> None:
        membership = self.boundary.membership
        if self.boundary.standing.settled:
            absent_topics.check(self.options, membership, self.brokers, self.clock)
        if self.is_available_now:
            self._fixed = FixedEnds(self.brokers, self.clock, membership.subscribed())

    def proved(self, once: bool, is_over: Callable[[], bool]) -> Plan | None:
        """Return a plan of what is held for certain, or None if there is nothing to read."""
        membership = self.boundary.membership
        for _ in range(_PROOFS_MAX):
            plan = self._when_sure(once, is_over)
            if plan is None:
                if not self.is_job(once) and membership.touched():
                    self.boundary.cross()
                    continue
                self.boundary.is_idle = True
                return None
            if membership.prove():
                self.batch_size.planned()
                self.ends.waits_for_brokers = True
                self.boundary.is_idle = False
                return plan
            self.boundary.cross()
        _log.warning(catalogue.warning("ZKG-110"))
        return None

    def _when_sure(self, once: bool, is_over: Callable[[], bool]) -> Plan | None:
        """Plan only what is certain: else the query could end before it knows what is unread."""
        plan = self._plan(once)
        while plan is None and self._is_unsure(once) and not is_over():
            self.boundary.look_again()
            if self.boundary.membership.stirred():
                self.boundary.cross()
            plan = self._plan(once)
        return plan

    def _is_unsure(self, once: bool) -> bool:
        if self._fixed is not None and self._fixed.unsure:
            return True
        return self.boundary.logs.unsure and self.is_job(once)

    def _plan(self, once: bool) -> Plan | None:
        answered = self.ends.ask(self.boundary.standing.positions)
        self._skip_losses(answered)
        if not answered:
            return None
        positions, latest = self.boundary.standing.positions, self.ends.latest
        starts = {p: position.start for p, position in positions.items()}
        ends = latest if self._fixed is None else self._fixed.within(starts, latest)
        if not self.is_job(once) and self.batch_size.holds_back(starts, ends):
            return None
        # Spark's trigger(once) asks for one batch of everything, whatever the options say.
        until = share(None, starts, ends) if once else self.batch_size.until(starts, ends)
        if all(until[p] == starts[p] for p in starts):
            return None
        return Plan(
            protocol=self.boundary.membership.protocol,
            group=self.options.group.id,
            member=self.boundary.membership.member,
            ranges=tuple(
                PlannedRange(
                    *(p, OffsetRange(starts[p], until[p]), at.thread, at.fence),
                    self.boundary.logs.mark(p, until[p]),
                )
                for p, at in sorted(positions.items())
            ),
        )

    def _skip_losses(self, answered: Mapping[TopicPartition, LogEnd]) -> None:
        standing, logs = self.boundary.standing, self.boundary.logs
        starts = {p: position.start for p, position in standing.positions.items()}
        found = logs.look(starts, answered, standing.withheld) if answered else []
        if found and not self.boundary.membership.vouches():
            logs.put_off(found)
            found = []
            self.boundary.cross()  # The proof may have dropped partitions: they are not planned.
        for partition in logs.doubted:
            self.ends.latest.pop(partition, None)
        if self._fixed is not None:
            self._fixed.told(found)
            found += self._fixed.look(starts, self.ends.latest if answered else {})
        if found:
            self.boundary.skip(found)
