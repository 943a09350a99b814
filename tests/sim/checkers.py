"""The promises, checked after every event, whatever the scene.

What is checked comes from the fakes alone: every transaction of ZooKeeper, every range that reaches
a sink, every batch that Spark logs. Members are asked only, after a boundary, what they believe to
hold.

An offset of the group has an *epoch*: a new one begins when a process that is no member of ours
sets it, since from then on everything behind it counts as unread again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyspark_zkgroup.group.ownership import OffsetRead, parse_offset, stands, version_of
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.allowed_errors import is_allowed
from tests.sim.duplicates import Duplicates
from tests.sim.ledger import Delivery
from tests.sim.loss_checks import LossChecks
from tests.sim.node_checks import UNSEEN_S
from tests.sim.query import Batch, Driver
from tests.sim.world import World


class Checkers(LossChecks):
    def __init__(self, world: World, server: FakeZookeeper, kafka: FakeKafka, group: str) -> None:
        super().__init__(world, server, kafka, group)
        self._duplicates = Duplicates(
            world,
            self.counts,
            is_another=self._is_another,
            was_set_back=self.was_set_back,
            excused=self.excused,
        )

    # -- what Spark and the members do

    def opened(self, driver: Driver, session: int) -> None:
        self.drivers[session] = driver
        self.world.tell(f"{driver.name} opens session {session:#x}")
        if self._has_twin(driver):
            self.fault(driver, "it is the second driver of its checkpoint")

    def gave_up(self, driver: Driver) -> None:
        self.counts["gave up for a silent driver"] += 1
        self.fault(driver, "it gave up for its silent driver")

    def boundary(self, driver: Driver, offset: object) -> None:
        self.counts["boundary"] += 1
        membership = driver.membership
        session = membership.keeper.session
        if session is None or not session.connected or not membership.agenda.joined:
            return
        if membership.keeper.offline_since is not None or membership.holdings.doubtful:
            return
        if session.id in self.server.ended or driver.process.paused_at >= driver.call_began:
            return
        nodes = {p for p, s in self.owner.items() if s == session.id}
        held = set(membership.holdings.held)
        for partition in held - nodes:
            lost_at = self.lost_at.get((session.id, partition), 0.0)
            if (session.id, partition) in self.vandalised:
                if partition in self.owner:
                    # Now another member's: its name shows nothing, the proof before a plan does.
                    continue
                # What was deleted under it, it learns as soon as the server it is connected to has
                # seen it, and then has to look.
                lagging = session.replica is not self.server.leader  # type: ignore[attr-defined]
                lost_at += 1.0 + (self.server.lag_s if lagging else 0.0)
                lost_at += float("inf") if membership.agenda.stirred() else 0.0
            if (session.id, partition) in self.taken_over:
                # Under its own id: the proof before its next plan shows it.
                continue
            if lost_at < driver.call_began:
                self.world.fail(f"P2: {driver.name} believes to hold {partition}, but does not")
        if session.forced:  # type: ignore[attr-defined]
            # A rollback ended it and brought back the nodes that it had, and its client was cut
            # off meanwhile: these nodes are there until the server ends it once more.
            return
        for partition in nodes - held:
            self.world.fail(f"{driver.name} owns the node of {partition} but does not hold it")

    def planned(self, driver: Driver, plan: Plan) -> None:
        self.counts["plan"] += 1
        self.check_visible(driver, plan)
        keeper = driver.membership.keeper
        session = keeper.session
        if session is None:
            self.world.fail(f"P2: {driver.name} plans without a session")
            return
        online = keeper.offline_since is None
        proved_at = session.multi_at if online else float("inf")  # type: ignore[attr-defined]
        paused = driver.process.paused_at >= driver.call_began
        paused |= not online and session.forced  # type: ignore[attr-defined]
        for planned in plan.ranges:
            partition = planned.partition
            progress = self.of(partition)
            mine = self.owner.get(partition) == session.id
            lost_at = self.lost_at.get((session.id, partition), float("-inf"))
            unheard = not online and (session.id, partition) in self.vandalised
            # Taken over under its own id while it lives, and cut off: it learns of it at its
            # return.
            unheard |= not online and (session.id, partition) in self.taken_over
            if not mine and not paused and not unheard and lost_at < proved_at:
                self.world.fail(f"P2: {driver.name} plans {partition} without a claim")
                return
            node = self.nodes.offset(partition)
            if node is None or not mine:
                continue
            standing = stands(planned.fence, OffsetRead(node.data, node.node))
            # Its own commit, executed and never answered, has moved it.
            self.counts["plan in doubt"] += standing and version_of(planned.fence) != node.node
            moved = not standing and progress.changed_at < session.multi_at  # type: ignore[attr-defined]
            if moved and online and not paused:
                self.world.fail(f"P2: {driver.name} plans {partition} under a fence that has moved")
                return
            value = parse_offset(node.data)
            if value is None or not standing:
                continue
            gap = self._gap(partition, progress, progress.epoch, value, planned.range.start)
            if gap is not None:
                self.world.fail(
                    f"P1: {driver.name} plans {partition} {planned.range} past {gap}, "
                    f"which is in no finished batch (the group's offset is {value})"
                )
                return

    def logged(self, driver: Driver, batch: Batch) -> None:
        rows = sum(len(r.range) for r in batch.plan.ranges)
        has_twin = self._has_twin(driver)
        self.world.tell(
            f"{driver.name} logs batch {batch.number}: "
            + ", ".join(f"{r.partition}{r.range}" for r in batch.plan.ranges if len(r.range))
        )
        self.counts["batch"] += 1
        self.counts["row"] += rows
        session = driver.membership.keeper.session
        batch.proved_at = self.world.now if session is None else session.multi_at  # type: ignore[attr-defined]
        for planned in batch.plan.ranges:
            progress = self.of(planned.partition)
            if planned.partition not in driver.planner.boundary.logs.doubted:
                progress.unlooked = None
            batch.epochs[planned.partition] = progress.epoch
            # Its own commit may have moved the fence without an answer; so may its twin, which
            # settles the same batch at the same offset.
            writer = self.drivers.get(progress.writer)
            mine = writer is not None and writer.query is driver.query
            if writer is driver and not progress.lost and not self._stands(planned):
                self.world.fail(
                    f"P1: {driver.name} logs {planned.partition} under a fence that its own replay "
                    f"would refuse"
                )
                return
            if not mine and not progress.lost and not self._stands(planned):
                # Moved by another write after the proof: the batch holds what was there before. A
                # rollback moved it, or, if the proof came later, a commit under a fence that came
                # again, which begins no epoch. No member commits this batch.
                if progress.epoch not in progress.rolled_back:
                    batch.epochs[planned.partition] = -1
                elif batch.proved_at < progress.rolled_back_at:
                    batch.epochs[planned.partition] = progress.epoch - 1
                else:
                    batch.excuses[planned.partition] = ["a fence came again, unheard"]
            if mine and writer is not driver and not self._stands(planned):
                # Its twin has settled the batch before while it was cut off: this one is planned
                # under a fence that has moved, so no member commits it.
                batch.excuses[planned.partition] = ["settled by its twin, unheard"]
            if session is None or self.owner.get(planned.partition) != session.id:
                # Lost between the proof and the log: the member can check nothing in between.
                excuses = batch.excuses.setdefault(planned.partition, [])
                excuses.append("lost between proof and log")
            if has_twin:
                # This takes its ranges away, or logs the same number first.
                batch.excuses.setdefault(planned.partition, []).append("a second driver")
            if len(planned.range):
                self.in_flight.add(planned.partition, batch)

    def check_replayable(
        self, driver: Driver, batch: Batch, accepts: Callable[[PlannedRange], bool]
    ) -> None:
        """Check that the replay of a logged plan would accept it: `accepts` asks what the product
        asks in a replay, of what the group holds now. Only another's write explains a refusal.
        """
        for planned in batch.plan.ranges:
            if accepts(planned):
                self.counts["logged range: a replay accepts it"] += 1
            elif self.moved_by_another(driver, planned.partition):
                self.counts["logged range: moved by another since the proof"] += 1
            else:
                self.world.fail(
                    f"replay: {driver.name} logs batch {batch.number} with {planned.partition} "
                    f"{planned.range} under {planned.fence!r}, which its own replay would leave out"
                )
                return

    def moved_by_another(self, driver: Driver, partition: TopicPartition) -> bool:
        """Whether the newest write to what the group holds is not this driver's."""
        return self.drivers.get(self.of(partition).writer) is not driver

    def _stands(self, planned: PlannedRange) -> bool:
        node = self.nodes.offset(planned.partition)
        return node is not None and stands(planned.fence, OffsetRead(node.data, node.node))

    def replayed(self, driver: Driver, batch: Batch, ranges: set[TopicPartition]) -> None:
        left_out = {r.partition for r in batch.plan.ranges if len(r.range)} - ranges
        self.counts["replay"] += 1
        self.counts["replayed range"] += len(ranges)
        self.counts["range left out"] += len(left_out)
        for partition in ranges:
            if batch.proved_at < self.of(partition).rolled_back_at:
                # Another took the partition over and read the same rows. Then that was rolled back.
                # Its next claim gave the offset node the version that this plan was made under.
                batch.excuses.setdefault(partition, []).append("a fence came again")
        self.world.tell(
            f"{driver.name} replays {len(ranges)} ranges of batch {batch.number}, leaves out "
            f"{', '.join(map(str, sorted(left_out))) or 'none'}"
        )

    def read(self, batch: Batch, part: TopicPartition, wanted: OffsetRange, life: int) -> None:
        if self._is_another(batch, part, life):
            # docs/operations.md: the second in which a recreated topic is not seen.
            if batch.proved_at < self.made_at.get(part.topic, 0.0) + UNSEEN_S:
                self.counts["a recreated topic was not seen yet"] += 1
            else:
                self.world.fail(f"P1: {batch} reads what has taken the place of {part} {wanted}")
        self.deliver(part, life, wanted.start, wanted.until, batch, str(batch))

    def deliver(
        self,
        partition: TopicPartition,
        life: int,
        start: int,
        until: int,
        batch: Batch | None,
        by: str,
    ) -> None:
        progress = self.of(partition)
        epoch = progress.epoch if batch is None else batch.epochs[partition]
        mine = Delivery(start, until, epoch, batch, by, self.world.now)
        if batch is not None and start < progress.rolled_back.get(epoch, 0):
            self.world.fail(f"P3: {by} reads {partition} from {start}, before what was rolled back")
        earlier = progress.deliveries.setdefault(life, [])
        # A sink that knows what it has takes nothing twice.
        if batch is None or batch.query.sink != "by offset":
            self._duplicates.judge(partition, life, mine, earlier)
        earlier.append(mine)
        if batch is None:
            progress.cover(progress.epoch).add(start, until)

    def was_set_back(self, partition: TopicPartition, _mine: Delivery, other: Delivery) -> bool:
        return self.of(partition).set_back_at >= other.at

    def excused(self, _partition: TopicPartition, _batch: Batch, why: list[str], rows: int) -> None:
        """Allow rows that come again, of a batch that was in flight when these faults occurred."""
        self.counts["excused deliveries"] += 1
        self.counts[f"excused rows: {why[-1]}"] += rows

    def finished(self, batch: Batch) -> None:
        self.world.tell(f"{batch} is finished")
        for partition, pieces in batch.sunk.items():
            for wanted, _which in pieces:
                self.of(partition).add(batch.epochs[partition], wanted.start, wanted.until)

    def left(self, driver: Driver) -> None:
        """A clean stop excuses only batches that no process can know to be done."""
        batch = driver.query.batches[-1] if driver.query.batches else None
        if batch is None:
            return
        # Cut off silently, nothing is refused: requests get no answer.
        access = driver.process.access
        troubled = access.refusals > 0 or access.way != "up"
        # After a SIGTERM to all, Spark may log the batch when the planner has already looked.
        went_on = driver._steps_left is not None
        if batch.finished and driver.query.evidence and not troubled and not went_on:
            return
        if driver.drain.acknowledged and not troubled:
            return
        if batch.taken and not batch.finished:
            # Others may have read and committed the same by now, so it is in flight no longer.
            for planned in batch.plan.ranges:
                self._excuse_stop(driver, batch, planned.partition, "finished by the JVM alone")
        for partition, one in self.in_flight:
            if (one is batch and batch.taken) or (troubled and one.query is driver.query):
                self._excuse_stop(driver, one, partition, "stopped without evidence")

    def _excuse_stop(
        self, driver: Driver, batch: Batch, partition: TopicPartition, why: str
    ) -> None:
        """Count each stop once, however often it is looked at."""
        stop = (driver.name, batch.number, partition, why)
        if stop not in self._stops:
            self._stops.add(stop)
            batch.excuses.setdefault(partition, []).append(why)

    def failed(self, driver: Driver, error: BaseException) -> None:
        self.world.tell(f"{driver.name} fails: {error}")
        self.counts[f"query failed: {type(error).__name__}"] += 1
        if not is_allowed(
            driver, error, self.allowed_faults, set_back=self.counts["jvm commit back"] > 0
        ):
            self.world.fail(f"P8: {driver.name} failed by {error!r}")
        self.fault(driver, "the query failed")

    def copied(self, driver: Driver, partition: TopicPartition, offset: int) -> None:
        session = driver.membership.keeper.session
        self.copies.copied(0 if session is None else session.id, driver.name, partition, offset)

    # -- at the end

    def rows_left(self, ends: Mapping[TopicPartition, int]) -> int:
        """Return how many rows are to be read up to these ends. Those that were read without a
        commit come again before the unread ones.
        """
        total = 0
        for partition, end in ends.items():
            earliest = self.kafka.logs[partition].earliest
            unread = self.of(partition).unread_rows(earliest, end)
            committed = self.committed_offset(partition) if unread else None
            total += unread if committed is None else max(unread, end - max(earliest, committed))
        return total

    def unread(self, ends: Mapping[TopicPartition, int] | None = None) -> list[str]:
        """Return what no member has read, up to these ends or to those of the logs."""
        if ends is None:
            ends = {p: log.latest for p, log in self.kafka.logs.items()}
        found = []
        for partition in sorted(ends.keys() & self.kafka.logs.keys()):
            log = self.kafka.logs[partition]
            gap = self.of(partition).first_unread(log.earliest, ends[partition])
            if gap is not None:
                found.append(f"{partition} from {gap} (of {log.earliest} to {log.latest})")
        return found

    def committed_offset(self, partition: TopicPartition) -> int | None:
        node = self.nodes.offset(partition)
        return parse_offset(node.data) if node else None

    def uncommitted(self) -> list[str]:
        found = []
        for partition in sorted(self.kafka.logs):
            value = self.committed_offset(partition)
            if value != self.kafka.logs[partition].latest:
                found.append(f"{partition} at {value} of {self.kafka.logs[partition].latest}")
        return found
