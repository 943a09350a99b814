"""The boundary between two micro-batches: the only place where the group moves.

Spark calls `latest_offset(start)` only when the batch that ended at `start` is finished and logged,
so the call itself proves that everything up to `start` is done. `commit` comes a batch late and
never for the last one, so it proves nothing. After a crash the first call is `partitions(start,
end)`, the replay of an unfinished batch, or `latest_offset(start)`. Spark 4.0 and 4.1 pass no
start; there a restart begins with `partitions(end, end)`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.errors import PlanError, ServerError, StoppedError
from pyspark_zkgroup.model import LogEnd, OffsetRange, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan, PlannedRange, TaskInput, encode, task_inputs
from pyspark_zkgroup.planning.batch_size import BatchSize
from pyspark_zkgroup.planning.checkpoint import checkpoint_plan
from pyspark_zkgroup.planning.drain import Drain, DrainBox
from pyspark_zkgroup.planning.evidence import batch_is_committed
from pyspark_zkgroup.planning.fixed_ends import FixedEnds
from pyspark_zkgroup.planning.log_watch import LogWatch
from pyspark_zkgroup.planning.outage import Outage
from pyspark_zkgroup.planning.silence import Silence
from pyspark_zkgroup.protocols.port import Brokers, Membership, Position, Standing
from pyspark_zkgroup.ranges.limits import share
from pyspark_zkgroup.ranges.splitting import split

# How often an idle query asks the brokers for log ends: Spark's default trigger would ask a hundred
# times a second.
_IDLE_ASK_S = 0.25
_JOIN_LOOK_S = 0.2
# A driver that stops queries on request looks for requests once a second.
_DRIVER_STOPS_S = 10.0
_PROOFS_MAX = 5
_log = logging.getLogger("pyspark_zkgroup.planner")

Offset = dict[str, Any]


class Planner:
    def __init__(
        self,
        options: Options,
        membership: Membership,
        brokers: Brokers,
        clock: EventClock = SYSTEM,
        drain: Drain | None = None,
        is_logged: Callable[[str, Offset], bool] = batch_is_committed,
        load: str = "",
    ) -> None:
        self.options = options
        self.membership = membership
        self.brokers = brokers
        self.clock = clock
        self.drain = drain or DrainBox(membership.member, options.group.id, load)
        self.logs = LogWatch(brokers, clock)
        membership.losses.old_ends = self.logs.old_ends
        self.batch_size = BatchSize(options.batches, brokers, clock)
        self._outage = Outage(clock)
        limit_s = options.group.max_poll_interval_ms / 1000.0
        self.silence = Silence(limit_s, membership.give_up, clock)
        self._is_logged = is_logged
        self._start: Offset | None = None
        self._end: Offset | None = None
        self._run: dict[TopicPartition, OffsetRange] = {}
        self._tasks: list[TaskInput] = []
        self._arrived = self._ever_planned = self._stopped = False
        self._is_begun = True
        self._available_now = self._is_restart = False
        self._fixed: FixedEnds | None = None
        self._ends: Mapping[TopicPartition, LogEnd] = {}
        self._latest: dict[TopicPartition, int] = {}
        self._standing = Standing()
        self._asked_at = float("-inf")
        self._idle = False

    # -- Spark's calls

    def initial_offset(self) -> Offset:
        return encode(Plan(self.membership.protocol, self.options.group.id, ""))

    def prepare_available_now(self) -> None:
        self._available_now = True

    def latest_offset(self, start: Offset | None, once: bool) -> Offset:
        """Return the next plan, or `start` itself if there is nothing to read."""
        with self.silence.call():
            if start is None:
                self._check_begun()
            start = self._known_start(start)
            self._arrive(start)
            offset = self._next(start, once)
            self.drain.settle(offset is start and not self._run and not self.membership.unsettled)
            return offset

    def partitions(self, start: Offset, end: Offset) -> list[TaskInput]:
        """Return the tasks of one batch: always the same ones, however often Spark asks."""
        with self.silence.call():
            return self._partitions(start, end)

    def _partitions(self, start: Offset, end: Offset) -> list[TaskInput]:
        if start == end:
            if not self._arrived:
                self._start = end
            return []
        if self._end is not None and end == self._end:
            self._is_begun = True
            return self._tasks
        if self._arrived or self._end is not None:
            raise PlanError.of("unplanned_batch")
        plan = checkpoint_plan(end, start, self.options, self.membership.protocol)
        self._trust(plan)
        included = self.membership.replay(plan)
        self._start, self._end = start, end
        self._run = {r.partition: r.range for r in plan.ranges if r.partition in included}
        self._tasks = split(task_inputs(plan, included), self.options.batches.splitting)
        return self._tasks

    def report_latest(self) -> Offset:
        """Return log ends, lag and what the member waits for.

        Spark shows it as `sources[].latestOffset` of the progress.
        """
        lag = 0
        latest: dict[str, dict[str, int]] = {}
        for partition, position in sorted(self._standing.positions.items()):
            end = self._latest.get(partition)
            if end is not None:
                latest.setdefault(partition.topic, {})[str(partition.partition)] = end
                planned = self._run.get(partition)
                lag += max(0, end - (planned.until if planned else position.start))
        return {"version": 1, **self.membership.status(), "lag": lag, "latest": latest}

    def stop(self) -> None:
        """Leave the group. Commit the last batch only with evidence that Spark has logged it."""
        if self._stopped:
            return
        self._stopped = True
        with self.silence.leaving():
            done: dict[TopicPartition, int] = {}
            if self._run and self._end is not None and self._is_finished(self._end):
                done = {p: r.until for p, r in self._run.items()}
            try:
                self.membership.leave(done)
            finally:
                self.drain.close()

    # -- what has happened since the last boundary

    def _known_start(self, start: Offset | None) -> Offset:
        if start is not None:
            return start
        if self._end is not None:
            return self._end
        return self._start if self._start is not None else self.initial_offset()

    def _check_begun(self) -> None:
        """Refuse a second call before the batch has begun.

        Spark 4.0 and 4.1 pass no start, so there a call proves that the last batch is done only if
        that batch has begun. It has not when Spark's wrapper for available-now asks: first for the
        plan of its one batch, then, before that batch is even logged, for the newest offset to show
        in the progress. If that call counted as a boundary, it would commit records that were never
        read.
        """
        if not self._is_begun:
            raise PlanError.of("batch_not_started")

    def _arrive(self, start: Offset) -> None:
        """Learn from `start` what is done.

        `start` is the last plan's end, or, if Spark did not take that plan, the start it was made
        from.
        """
        if self._end is not None:
            if start != self._end:
                if start != self._start:
                    raise PlanError.of("unplanned_offset")
                _log.info("Spark did not run the last plan; planning the batch again")
                self._run, self._tasks, self._end = {}, [], None
                self.batch_size.not_taken()
        elif not self._arrived:
            plan = checkpoint_plan(start, start, self.options, self.membership.protocol)
            if plan.ranges:
                self._trust(plan)
                self.membership.resume(plan)
        if not self._arrived:
            self.drain.open()
        self._arrived = True

    def _trust(self, plan: Plan) -> None:
        self._is_restart = True
        self.logs.trust({r.partition: (r.range.until, r.mark) for r in plan.ranges})

    def _boundary(self, done: Mapping[TopicPartition, int]) -> None:
        before = self._standing.positions
        self._standing = self.membership.boundary(done)
        self._run = {}
        now = self._standing.positions
        if any(before.get(p) != position for p, position in now.items()):
            self._idle = False
        gone = before.keys() - now.keys()
        if gone:
            gone -= set(self.membership.subscribed())
            self.logs.let_go({p: done.get(p, before[p].start) for p in gone})
        self.membership.skip(self.logs.deleted(now))

    def _drained(self, start: Offset, done: Mapping[TopicPartition, int]) -> Offset:
        """Commit and plan nothing: the query is about to be stopped."""
        self._boundary(done)
        if not self.membership.unsettled:
            self.drain.acknowledge()
        self.membership.wait(_JOIN_LOOK_S)
        return start

    def _end_query(self, start: Offset, by: str) -> Offset:
        """End the query for an operator: everything is committed, and the member has left the
        group.

        A driver that reads requests stops the query; with any other driver it ends with an error. A
        query that ends by itself needs neither: it has no new data.
        """
        self.drain.ask_driver(by)
        give_up_at = self.clock.monotonic() + _DRIVER_STOPS_S
        while self.clock.monotonic() < give_up_at:
            if self.drain.requested():
                return self._drained(start, {})
            self.membership.wait(_JOIN_LOOK_S)
        raise StoppedError.of(
            "stopped", by=by, member=self.membership.member, group=self.options.group.id
        )

    def _wait_for_share(self) -> None:
        """A job that ends by itself must not leave out what an expiring member still holds."""
        give_up_at = self.clock.monotonic() + self.options.group.rebalance_wait_ms / 1000.0
        while self._is_expecting() and self.clock.monotonic() < give_up_at:
            self.membership.wait(_JOIN_LOOK_S)
            self._boundary({})
        if self._is_expecting():
            waiting = self._standing.waiting
            reasons = "; ".join(sorted(set(waiting.values()))[:3]) or self._standing.expected
            _log.warning(
                catalogue.warning(
                    "ZKG-109",
                    wait_ms=self.options.group.rebalance_wait_ms,
                    count=len(waiting),
                    reasons=reasons or "the group is rebalancing",
                )
            )

    def _is_expecting(self) -> bool:
        return not self._standing.settled or bool(self._standing.expected)

    # -- planning

    def _next(self, start: Offset, once: bool) -> Offset:
        done = {p: r.until for p, r in self._run.items()}
        if self.drain.requested():
            return self._drained(start, done)
        first = self._asked_at == float("-inf")
        if not done and self._idle and not self.membership.stirred():
            self.membership.wait(max(0.0, self._asked_at + _IDLE_ASK_S - self.clock.monotonic()))
        self._boundary(done)
        if self._standing.ended and not (self._available_now or once):
            return self._end_query(start, self._standing.ended)
        if first and (self._available_now or once):
            self._wait_for_share()
        if first and self._available_now:
            self._fixed = FixedEnds(self.brokers, self.clock, self.membership.subscribed())
        if self._idle and self.clock.monotonic() < self._asked_at + _IDLE_ASK_S:
            return start
        for _ in range(_PROOFS_MAX):
            plan = self._plan_when_sure(once)
            if plan is None:
                if not (once or self._available_now) and self.membership.touched():
                    self._boundary({})
                    continue
                self._idle = True
                return start
            if self.membership.prove():
                return self._planned(start, plan)
            self._boundary({})
        _log.warning(catalogue.warning("ZKG-110"))
        return start

    def _plan_when_sure(self, once: bool) -> Plan | None:
        """Plan only what is certain: else the query could end before it knows what is unread."""
        plan = self._plan(once)
        while plan is None and self._is_unsure(once) and not self.drain.requested():
            self.membership.wait(_JOIN_LOOK_S)
            if self.membership.stirred():
                self._boundary({})
            plan = self._plan(once)
        return plan

    def _is_unsure(self, once: bool) -> bool:
        if self._fixed is not None and self._fixed.unsure:
            return True
        return self.logs.unsure and (self._available_now or once)

    def _plan(self, once: bool) -> Plan | None:
        answered = self._ask_log_ends(self._standing.positions)
        self._skip_losses(self._ends if answered else {})
        if not answered:
            return None
        positions = self._standing.positions
        starts = {p: position.start for p, position in positions.items()}
        ends = self._latest if self._fixed is None else self._fixed.within(starts, self._latest)
        # A job that ends by itself cannot wait for more: it reads what exists now.
        if not (once or self._available_now) and self.batch_size.holds_back(starts, ends):
            return None
        # Spark's trigger(once) asks for one batch of everything, whatever the options say.
        until = share(None, starts, ends) if once else self.batch_size.until(starts, ends)
        if all(until[p] == starts[p] for p in starts):
            return None
        return Plan(
            protocol=self.membership.protocol,
            group=self.options.group.id,
            member=self.membership.member,
            ranges=tuple(
                PlannedRange(
                    *(p, OffsetRange(starts[p], until[p]), at.thread, at.fence),
                    self.logs.mark(p, until[p]),
                )
                for p, at in sorted(positions.items())
            ),
        )

    def _skip_losses(self, ends: Mapping[TopicPartition, LogEnd]) -> None:
        starts = {p: position.start for p, position in self._standing.positions.items()}
        found = self.logs.look(starts, ends, self._standing.withheld) if ends else []
        if found and not self.membership.vouches():
            self.logs.put_off(found)
            found = []
            self._boundary({})  # The proof may have dropped partitions, which must not be planned.
        for partition in self.logs.doubted:
            self._latest.pop(partition, None)
        latest = self._latest if ends else {}
        if self._fixed is not None:
            self._fixed.told(found)
            found += self._fixed.look(starts, latest)
        if found:
            self.membership.skip(found)
            self.logs.told(found)
            self._boundary({})

    def _ask_log_ends(self, positions: Mapping[TopicPartition, Position]) -> bool:
        """Return False if the log ends are not available now.

        A query waits for brokers that are away, and does not fail.
        """
        self._asked_at = self.clock.monotonic()
        if not positions:
            return False
        try:
            self._ends = self.brokers.log_ends(list(positions))
        except ServerError as error:
            if not self._ever_planned and not self._latest and not self._is_restart:
                raise
            self._outage.goes_on(error)
            return False
        self._outage.ends()
        self._latest = {p: end.offset for p, end in self._ends.items()}
        return True

    def _planned(self, start: Offset, plan: Plan) -> Offset:
        self._start, self._end = start, encode(plan)
        self._run = {r.partition: r.range for r in plan.ranges}
        self._tasks = split(task_inputs(plan, frozenset(self._run)), self.options.batches.splitting)
        self.batch_size.planned()
        self._ever_planned, self._idle, self._is_begun = True, False, False
        return self._end

    def _is_finished(self, end: Offset) -> bool:
        if self.drain.finished(end):
            return True
        location = self.options.group.checkpoint_location
        return location is not None and self._is_logged(location, end)
