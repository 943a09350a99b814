"""The boundary between two micro-batches: the only place where the group moves.

Spark calls `latest_offset(start)` only when the batch that ended at `start` is finished and logged,
so the call itself proves that everything up to `start` is done. `commit` comes a batch late and
never for the last one, so it proves nothing. After a crash the first call is `partitions(start,
end)`, the replay of an unfinished batch, or `latest_offset(start)`. Spark 4.0 and 4.1 pass no
start; there a restart begins with `partitions(end, end)`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from pyspark_zkgroup.clock import SYSTEM, EventClock
from pyspark_zkgroup.errors import PlanError, StoppedError
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.plan import Plan, TaskInput, encode, task_inputs
from pyspark_zkgroup.planning.batch import Batch, Offset
from pyspark_zkgroup.planning.boundary import Boundary
from pyspark_zkgroup.planning.checkpoint import checkpoint_plan
from pyspark_zkgroup.planning.drain import Drain, DrainBox
from pyspark_zkgroup.planning.evidence import batch_is_committed
from pyspark_zkgroup.planning.log_watch import LogWatch
from pyspark_zkgroup.planning.next_plan import NextPlan
from pyspark_zkgroup.planning.silence import Silence
from pyspark_zkgroup.protocols.port import Brokers, Membership
from pyspark_zkgroup.ranges.splitting import split

# A driver that stops queries on request looks for requests once a second.
_DRIVER_STOPS_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.planner")


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
        self.clock = clock
        self.drain = drain or DrainBox(membership.member, options.group.id, load)
        self.boundary = Boundary(membership, LogWatch(brokers, clock), clock)
        self.next_plan = NextPlan(options, brokers, self.boundary, clock)
        limit_s = options.group.max_poll_interval_ms / 1000.0
        self.silence = Silence(limit_s, membership.give_up, clock)
        self._is_logged = is_logged
        self._arrived = self._stopped = False

    # -- Spark's calls

    def initial_offset(self) -> Offset:
        return encode(Plan(self.membership.protocol, self.options.group.id, ""))

    def prepare_available_now(self) -> None:
        self.next_plan.is_available_now = True

    def latest_offset(self, start: Offset | None, once: bool) -> Offset:
        """Return the next plan, or `start` itself if there is nothing to read."""
        with self.silence.call():
            if start is None:
                self._check_begun()
            start = self._known_start(start)
            self._arrive(start)
            offset = self._next(start, once)
            left = self.boundary.batch.ranges
            self.drain.settle(offset is start and not left and not self.membership.unsettled)
            return offset

    def partitions(self, start: Offset, end: Offset) -> list[TaskInput]:
        """Return the tasks of one batch: always the same ones, however often Spark asks."""
        with self.silence.call():
            return list(self._partitions(start, end).tasks)

    def _partitions(self, start: Offset, end: Offset) -> Batch:
        batch = self.boundary.batch
        if start == end:
            if not self._arrived:
                self.boundary.batch = replace(batch, start=end)
            return Batch()
        if batch.end is not None and end == batch.end:
            self.boundary.batch = batch.begun()
        elif self._arrived or batch.end is not None:
            raise PlanError.of("unplanned_batch")
        else:
            plan = checkpoint_plan(end, start, self.options, self.membership.protocol)
            self._trust(plan)
            self.boundary.batch = self._batch(start, end, plan, self.membership.replay(plan))
        return self.boundary.batch

    def _batch(
        self, start: Offset, end: Offset, plan: Plan, included: frozenset[TopicPartition]
    ) -> Batch:
        tasks = split(task_inputs(plan, included), self.options.batches.splitting)
        ranges = {r.partition: r.range for r in plan.ranges if r.partition in included}
        return Batch(start, end, ranges, tasks)

    def report_latest(self) -> Offset:
        """Return log ends, lag and what the member waits for.

        Spark shows it as `sources[].latestOffset` of the progress.
        """
        lag = 0
        latest: dict[str, dict[str, int]] = {}
        for partition, position in sorted(self.boundary.standing.positions.items()):
            end = self.next_plan.ends.latest.get(partition)
            if end is not None:
                latest.setdefault(partition.topic, {})[str(partition.partition)] = end
                planned = self.boundary.batch.ranges.get(partition)
                lag += max(0, end - (planned.until if planned else position.start))
        return {"version": 1, **self.membership.status(), "lag": lag, "latest": latest}

    def stop(self) -> None:
        """Leave the group. Commit the last batch only with evidence that Spark has logged it."""
        if self._stopped:
            return
        self._stopped = True
        batch = self.boundary.batch
        with self.silence.leaving():
            is_done = batch.ranges and batch.end is not None and self._is_finished(batch.end)
            try:
                self.membership.leave(batch.done if is_done else {})
            finally:
                self.drain.close()

    # -- what has happened since the last boundary

    def _known_start(self, start: Offset | None) -> Offset:
        if start is not None:
            return start
        batch = self.boundary.batch
        return batch.end or batch.start or self.initial_offset()

    def _check_begun(self) -> None:
        """Refuse a second call before the batch has begun.

        Spark 4.0 and 4.1 pass no start, so there a call proves that the last batch is done only if
        that batch has begun. It has not when Spark's wrapper for available-now asks: first for the
        plan of its one batch, then, before that batch is even logged, for the newest offset to show
        in the progress. If that call counted as a boundary, it would commit records that were never
        read.
        """
        if not self.boundary.batch.is_begun:
            raise PlanError.of("batch_not_started")

    def _arrive(self, start: Offset) -> None:
        """Learn from `start` what is done.

        `start` is the last plan's end, or, if Spark did not take that plan, the start it was made
        from.
        """
        batch = self.boundary.batch
        if batch.end is not None:
            if start != batch.end:
                if start != batch.start:
                    raise PlanError.of("unplanned_offset")
                _log.info("Spark did not run the last plan; planning the batch again")
                self.boundary.batch = batch.not_taken()
                self.next_plan.batch_size.not_taken()
        elif not self._arrived:
            plan = checkpoint_plan(start, start, self.options, self.membership.protocol)
            if plan.ranges:
                self._trust(plan)
                self.membership.resume(plan)
        if not self._arrived:
            self.drain.open()
        self._arrived = True

    def _trust(self, plan: Plan) -> None:
        self.next_plan.ends.waits_for_brokers = True
        self.boundary.logs.trust({r.partition: (r.range.until, r.mark) for r in plan.ranges})

    # -- the boundary

    def _next(self, start: Offset, once: bool) -> Offset:
        if self.drain.requested():
            return self._drained(start)
        boundary, next_plan = self.boundary, self.next_plan
        is_first, is_job = next_plan.ends.asked_at is None, next_plan.is_job(once)
        if not boundary.batch.ranges and boundary.is_idle and not self.membership.stirred():
            self.membership.wait(next_plan.ends.due_in_s())
        boundary.cross()
        if boundary.standing.ended and not is_job:
            return self._end_query(start, boundary.standing.ended)
        if is_first and is_job:
            boundary.wait_for_share(self.options.group.rebalance_wait_ms)
            next_plan.begin_job()
        if boundary.is_idle and next_plan.ends.due_in_s():
            return start
        plan = next_plan.proved(once, self.drain.requested)
        if plan is None:
            return start
        end = encode(plan)
        included = frozenset(r.partition for r in plan.ranges)
        boundary.batch = replace(self._batch(start, end, plan, included), is_begun=False)
        return end

    def _drained(self, start: Offset) -> Offset:
        """Commit and plan nothing: the query is about to be stopped."""
        self.boundary.cross()
        if not self.membership.unsettled:
            self.drain.acknowledge()
        self.boundary.look_again()
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
                return self._drained(start)
            self.boundary.look_again()
        raise StoppedError.of(
            "stopped", by=by, member=self.membership.member, group=self.options.group.id
        )

    def _is_finished(self, end: Offset) -> bool:
        if self.drain.finished(end):
            return True
        location = self.options.group.checkpoint_location
        return location is not None and self._is_logged(location, end)
