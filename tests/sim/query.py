"""A streaming query as Spark runs it: its checkpoint, its sink, and one driver after another.

Spark's order of calls and logs, as tests/harness/spark_order.py has it for real servers. Here
every step is one at which the driver, or only its planner, may end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pyspark_zkgroup.errors import (
    PlanError,
    ServerError,
    ZkgroupError,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import Options, parse
from pyspark_zkgroup.options.group import MAX_POLL_INTERVAL
from pyspark_zkgroup.plan import Plan, PlannedRange, TaskInput, TaskRange, decode
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.zookeeper.membership import zookeeper_membership
from pyspark_zkgroup.ranges.gaps import Gap
from tests.fakes.kafka import FakeKafka, Pieces
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim import silence, wired
from tests.sim.checkpoint import Checkpoint
from tests.sim.drain import SimDrain
from tests.sim.judge import Judge
from tests.sim.process import Process
from tests.sim.world import KilledError, World

SinkKind = Literal["append", "by batch id", "by offset"]
Offset = dict[str, Any]

_FETCH_PATIENCE_S = 20.0


class StoppedError(BaseException):
    """Spark's stream thread was interrupted."""


@dataclass(eq=False)
class Batch:
    """One entry of the offset log. `sunk`: what the sink has taken of it, over all tries.

    `proved_at`: when its partitions were last known to be its member's own. `excuses`: the faults
    that met it in flight, by partition.
    """

    query: Query
    number: int
    start: Offset
    end: Offset
    plan: Plan
    epochs: dict[TopicPartition, int] = field(default_factory=dict)
    excuses: dict[TopicPartition, list[str]] = field(default_factory=dict)
    proved_at: float = 0.0
    committed: set[TopicPartition] = field(default_factory=set)
    sunk: dict[TopicPartition, Pieces] = field(default_factory=dict)
    taken: bool = False
    finished: bool = False

    @cached_property
    def ranges(self) -> dict[TopicPartition, PlannedRange]:
        return self.plan.by_partition

    def __str__(self) -> str:
        return f"batch {self.number} of {self.query.name}"


@dataclass(eq=False)
class Query:
    name: str
    options: dict[str, str]
    sink: SinkKind = "append"
    evidence: bool = False
    available_now: bool = False
    interval_s: float = 0.5
    batch_s: float = 0.3
    batches: list[Batch] = field(default_factory=list)
    incarnations: int = 0
    twins: bool = False
    restart_s: float | None = 1.0
    driver: Driver | None = None
    slow_next_s: float = 0.0
    overlong_next_s: float = 0.0
    ended: bool = False
    sunk_ids: dict[int, Batch] = field(default_factory=dict)

    @property
    def static(self) -> bool:
        return "member.id" in self.options


class Driver:
    """One run of a query, from its start to its end, however it ends."""

    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        judge: Judge,
        query: Query,
        ended: Callable[[Driver], None],
    ) -> None:
        query.incarnations += 1
        self.name = f"{query.name}.{query.incarnations}"
        self.world = world
        self.kafka = kafka
        self.judge = judge
        self.query = query
        self.process = Process(world, server, self.name)
        self.process.on_fault = lambda reason: judge.fault(self, reason)
        self.process.on_session = lambda session: judge.opened(self, session)
        self.ended = ended
        self.drain = SimDrain()
        self.options: Options = parse(query.options)
        self.view = wired.view(kafka, self.process, self.options, self._copied)
        self.in_kafka: Any = self.view if self.options.group.offsets_storage == "kafka" else None
        self.membership = self.new_membership()
        self.checkpoint = Checkpoint(query, self.process, lambda: self.gone)
        self.planner = Planner(
            self.options,
            self.membership,
            self.view,
            self.process.clock,
            self.drain,
            self.checkpoint.is_finished,
        )
        self.began = world.now
        self.call_began = world.now
        self.replaying = False
        self.in_slow_batch = False
        self.left = False
        self.gone = False
        self._start: Offset | None = None
        query.driver = self
        self.process.actors.append(world.start(self.name, self.run))
        world.tell(f"{self.name} starts")

    def _copied(self, partition: TopicPartition, offset: int) -> None:
        self.judge.copied(self, partition, offset)

    def _hear_losses(self) -> None:
        losses = self.membership.losses
        skip = losses.skip

        def heard(found: Collection[Gap], known: Any) -> None:
            skip(found, known)
            for gap in found:
                self.judge.told_loss(self, gap)

        losses.skip = heard  # type: ignore[method-assign]

    def new_membership(self) -> OwnedMembership:
        return zookeeper_membership(
            self.options,
            self.view,
            Environment(
                clock=self.process.clock,
                new_name=lambda _clock: self.name,
                open_store=self.process.open_store,
            ),
            self.in_kafka,
        )

    # -- the life of it

    def run(self) -> None:
        self._hear_losses()
        try:
            if MAX_POLL_INTERVAL.name in self.query.options:
                silence.watch(self)
            self._triggers()
        except StoppedError:
            self._leave()
        except SystemExit:
            self._leave()
        except KilledError:
            if not self.process.driver_dead:
                self.world.tell(f"{self.name} fails: its planner is gone")
        except ZkgroupError as error:
            self.judge.failed(self, error)
            self.process.sigterm = True
            self._leave()
        finally:
            self.gone = True
            if not self.world.over:
                self.ended(self)

    def stop(self) -> None:
        """`query.stop()`: the stream thread is interrupted, the planner gets SIGTERM."""
        self.process.interrupted = True
        self.process.terminate()

    def stop_group(self, steps: int) -> None:
        """SIGTERM to the whole process group: the planner leaves while the JVM continues for a
        little.
        """
        if self.process.inside:
            self.stop()
            return
        self._steps_left = steps
        self.process.leaving = self.process.sigterm = True
        self.world.tell(f"SIGTERM to the process group of {self.name}")
        actor = self.world.start(f"{self.name} leaving", self._leave_apart)
        self.process.actors.append(actor)

    _steps_left: int | None = None

    def _leave_apart(self) -> None:
        with suppress(KilledError):
            self._leave()

    def _leave(self) -> None:
        """The planner's end: its handler raises SystemExit, its `finally` calls stop()."""
        process = self.process
        process.leaving = True
        if process.planner_dead:
            return
        was, process.inside = process.inside, True
        # Another may read its partitions before the answer to its last request is here.
        self.judge.left(self)
        try:
            self.planner.stop()
        finally:
            process.inside = was
            self.left = True
            if not process.planner_dead and not self.world.over:
                self.judge.left(self)
                self.world.tell(f"{self.name} has left")
                process.planner_dead = True
                process.access.die()

    # -- Spark's order

    def _triggers(self) -> None:
        if self.query.available_now:
            self.planner.prepare_available_now()
        while True:
            rows = self._trigger()
            if self.query.available_now and not rows:
                self.query.ended = True
                self.stop()
                self._check()
            self._sleep(self.world.at_least(self.query.interval_s))

    def _trigger(self) -> bool:
        if self._start is None and self._resume():
            return True
        assert self._start is not None
        start = dict(self._start)
        self.call_began = self.world.now
        end = self._call(lambda: self.planner.latest_offset(start, False))
        if end is start or end == start:
            self.judge.boundary(self, None)
            return False
        self.judge.boundary(self, end)
        self.planner.report_latest()
        plan = decode(end)
        self.judge.planned(self, plan)
        self._step("planned")
        batch = Batch(self.query, len(self.query.batches), self._start, end, plan)
        if not self.checkpoint.log(batch):
            self._check()
            number = self.checkpoint.next_number
            self.world.tell(f"{self.name} fails: batch {number} is logged already")
            raise PlanError("the offset log has this batch already", "Run one query")
        self.judge.logged(self, batch)
        self._step("logged")
        tasks = self._call(lambda: self.planner.partitions(start, end))
        self._run(batch, tasks)
        return True

    def _resume(self) -> bool:
        """The first trigger of this run: whether it replayed a batch."""
        last = self.checkpoint.resume()
        if last is None:
            self._start = self._call(self.planner.initial_offset)
            return False
        if last.finished:
            self._start = last.end
            return False
        self.world.tell(f"{self.name} replays {last}")
        self.replaying = True
        tasks = self._call(lambda: self.planner.partitions(last.start, last.end))
        self.replaying = False
        self.judge.replayed(self, last, {one.partition for task in tasks for one in task.ranges})
        self._run(last, tasks)
        return True

    def _run(self, batch: Batch, tasks: list[TaskInput]) -> None:
        self._step("partitions")
        rows: dict[TopicPartition, Pieces] = {}
        for task in tasks:
            for one in task.ranges:
                rows[one.partition] = self._fetch(one)
        slow_s, self.query.slow_next_s = self.query.slow_next_s, 0.0
        if slow_s:
            self.world.lazy_until = max(self.world.lazy_until, self.world.now + slow_s + 10.0)
        self.in_slow_batch = bool(slow_s)
        overlong_s, self.query.overlong_next_s = self.query.overlong_next_s, 0.0
        self._sleep(slow_s or overlong_s or self.query.batch_s * self.world.rng.random() * 2)
        self.in_slow_batch = False
        self._step("read")
        self._sink(batch, rows)
        self._step("sunk")
        if not batch.finished:
            batch.finished = True
            self.judge.finished(batch)
        self._start = batch.end
        self._step("finished")

    def _fetch(self, one: TaskRange) -> Pieces:
        """In a task: on another machine, which the planner's faults do not affect."""
        give_up_at = self.world.now + _FETCH_PATIENCE_S
        while True:
            try:
                return self.view.read(one.partition, one.range, one.mark)
            except ServerError:
                if self.world.now > give_up_at:
                    raise
                self._sleep(0.5)

    def _sink(self, batch: Batch, rows: dict[TopicPartition, Pieces]) -> None:
        if self.query.sink == "by batch id" and batch.taken:
            return
        batch.taken = True
        if self.left:
            # The JVM finishes a batch that its planner has left behind.
            self.judge.left(self)
        for partition, pieces in sorted(rows.items()):
            batch.sunk[partition] = pieces
            for wanted, life in pieces:
                self.judge.read(batch, partition, wanted, life)

    # -- steps

    def _call(self, ask: Callable[[], Any]) -> Any:
        process = self.process
        process.inside = True
        try:
            process.check()
            if process.leaving:
                raise KilledError
            return ask()
        finally:
            process.inside = False

    def _step(self, at: str) -> None:
        self.process.step(f"spark {at}")
        self._check()

    def _sleep(self, seconds: float) -> None:
        process = self.process
        self.world.wait(seconds, lambda: process.driver_dead or process.interrupted)
        process.check()
        self._check()

    def _check(self) -> None:
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left < 0:
                self.process.driver_dead = True
                raise KilledError
        elif self.process.interrupted:
            raise StoppedError
