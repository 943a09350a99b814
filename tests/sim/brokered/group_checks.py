"""The promises, where the brokers coordinate: which member planned what under which write, and what
the coordinator then knew of it.

Taken from what the coordinator did: every commit, every member it removed, what it forgot when it
moved. Sessions are numbers of drivers here; 0 is an operator.
"""

from __future__ import annotations

from collections import Counter

from pyspark_zkgroup.errors import AccessError, FencedError, ServerError, ZkgroupError
from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.kafka.error_codes import Meaning
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan, PlannedRange
from pyspark_zkgroup.protocols.kafka.rules.fencing import GroupOffset, replayed
from tests.fakes.broker_group import Group, GroupMember, Stored
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.brokered.member import brokered
from tests.sim.checkers import Checkers
from tests.sim.ledger import Delivery
from tests.sim.query import Batch, Driver
from tests.sim.world import World

_LATELY_S = 5.0
# Removed by the coordinator while its session lasted: it could not know.
_UNHEARD = ("fenced", "it did not join in time", "it did not ask for its share in time", "left")


class GroupChecks(Checkers):
    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        group: str,
        coordinator: FakeGroupCoordinator,
    ) -> None:
        super().__init__(world, server, kafka, group)
        self.coordinator = coordinator
        coordinator.looker = self
        self.proved_at: dict[int, float] = {}
        self.refused_at: dict[int, float] = {}
        self.removed_by: dict[int, str] = {}
        self.generation_of: dict[int, int] = {}
        self.refused_for_good: set[int] = set()
        self.set_backs: dict[TopicPartition, list[tuple[float, int, int]]] = {}
        self.rows_excused: Counter[TopicPartition] = Counter()
        self.moved_by_replay: set[TopicPartition] = set()
        self.set_back_late: set[TopicPartition] = set()

    # -- what the coordinator does

    def answered(self, client: int, kind: str, code: int) -> None:
        self.counts[f"{kind}: {codes.NAMES.get(code, str(code))}"] += 1
        if kind in ("heartbeat", "commit") and code in (codes.NONE, codes.REBALANCE_IN_PROGRESS):
            self.proved_at[client] = self.world.now
        if kind == "sync" and code == codes.NONE:
            self.proved_at[client] = self.world.now
        if kind.endswith("commit") and code != codes.NONE:
            self.refused_at[client] = self.world.now
        if any(
            codes.meaning_of(request, code) in (Meaning.REFUSED, Meaning.FENCED)
            for request in codes.REQUESTS
        ):
            self.refused_for_good.add(client)
        if kind == "join" and code == codes.NONE:
            self._notice_missed(client)
            self.generation_of[client] = self.coordinator.group.generation
            self.removed_by.pop(client, None)

    def _notice_missed(self, client: int) -> None:
        """The answer to a join is lost, and with it a generation: the member drops all that it
        holds, and no commit of the generation before was taken any more.
        """
        driver = self.drivers[client]
        member = brokered(driver).kept.member
        if member.may_commit and self.coordinator.group.generation > member.generation + 1:
            self.counts["a generation was missed"] += 1
            self.fault(driver, "it has missed a generation")

    def removed(self, member: GroupMember, why: str) -> None:
        self.counts[f"removed: {why}"] += 1
        driver = self.drivers[member.client]
        self.removed_by[member.client] = why
        if why != "left":
            self.fault(driver, f"removed from the group: {why}")
        elif brokered(driver).asked.request is not None:
            # It has committed all that it has read.
            self.counts["left on request"] += 1
        elif not driver.process.leaving:
            self.fault(driver, "it has given up its membership")
        else:
            # What it leaves uncommitted may be read before it learns that it is removed.
            self.left(driver)

    def joined_late(self, client: int) -> None:
        """It completes a rebalance with what the member held before: the leader gives the rest away
        although the member reads it by now.
        """
        self.fault(self.drivers[client], "its join came late")

    def loaded(self, group: Group) -> None:
        """A member that received a generation that is not written is a newcomer now."""
        self.counts["coordinator moved"] += 1
        at = {m.client: group.generation for m in group.members.values()}
        for client, generation in sorted(self.generation_of.items()):
            driver = self.drivers[client]
            if not driver.gone and at.get(client) != generation:
                self.counts["a generation was forgotten"] += 1
                self.removed_by[client] = "forgotten"
                self.fault(driver, "the coordinator has moved and does not know its generation")
            elif self.removed_by.get(client, "left") not in ("left", "fenced"):
                self._is_back(driver, client)

    def _is_back(self, driver: Driver, client: int) -> None:
        """Removed by a coordinator whose state is forgotten: it is a member as before."""
        self.counts["a removal was forgotten"] += 1
        why = f"removed from the group: {self.removed_by.pop(client)}"
        self.world.tell(f"{driver.name} is a member as before")
        for partition, batch in self.in_flight:
            reasons = batch.excuses.get(partition, [])
            if batch.query is driver.query and why in reasons:
                reasons.remove(why)

    def committed(
        self, client: int, partition: TopicPartition, before: Stored | None, after: Stored
    ) -> None:
        progress = self.of(partition)
        progress.changed_at = self.world.now
        progress.writer = client
        self.moved_by_replay.discard(partition)
        was_set_back = partition in self.set_back_late
        self.set_back_late.discard(partition)
        driver = self.drivers.get(client)
        if driver is not None and driver.replaying:
            self.moved_by_replay.add(partition)
        if self.coordinator.late:
            self.set_back_late.add(partition)
        old, new = None if before is None else before.offset, after.offset
        if client == 0:
            progress.epoch += 1
            progress.owed_from[progress.epoch] = new
            self.world.tell(f"operator sets {partition} to {new} (was {old})")
        elif old is None:
            self._first(partition, progress, new, client)
        elif new != old:
            self.world.tell(f"{self._who(client)} commits {partition} {old} -> {new}")
            if new < old and self._may_set_back(client, partition):
                self.set_backs.setdefault(partition, []).append((self.world.now, new, old))
            else:
                if was_set_back:
                    # A first position that came late, below the one that counts since.
                    old = min(new, max(old, progress.owed_from.get(progress.epoch, old)))
                self._commit(partition, progress, old, new, self._who(client))
        progress.values.add(new)
        self.in_flight.settle(partition, new, progress.epoch)

    def _may_set_back(self, client: int, partition: TopicPartition) -> bool:
        """docs/protocol-kafka.md: a request that comes late, within one generation, and a fence
        that is moved in a replay over another's commit. Each costs records twice.
        """
        if self.coordinator.late:
            self.counts["set back by a late request"] += 1
            return True
        if self.drivers[client].replaying:
            self.counts["set back by a moved fence"] += 1
            return True
        return False

    # -- what Spark and the members do

    def opened(self, driver: Driver, session: int) -> None:
        self.drivers[session] = driver
        if self._has_twin(driver):
            self.fault(driver, "it is the second driver of its checkpoint")

    def boundary(self, driver: Driver, offset: object) -> None:
        self.counts["boundary"] += 1
        self.counts[f"boundary: {brokered(driver).kept.member.phase}"] += 1

    def planned(self, driver: Driver, plan: Plan) -> None:
        self.counts["plan"] += 1
        self.check_visible(driver, plan)
        number = self.number_of(driver)
        if driver.process.paused_at >= driver.call_began:
            self.counts["plan after a pause"] += 1
            return
        unproved_s = self.world.now - self.proved_at.get(number, float("-inf"))
        if unproved_s > driver.options.protocol.kafka.session_timeout_ms / 1000.0:
            self.world.fail(
                f"P2: {driver.name} plans {unproved_s:.1f} s after the coordinator has last taken "
                "it for a member"
            )
            return
        for planned in plan.ranges:
            partition, progress = planned.partition, self.of(planned.partition)
            if not self._accepts(planned):
                if self._moved_unfairly(driver, number, partition):
                    self.world.fail(
                        f"P2: {driver.name} plans {partition} under a fence that has moved, by "
                        f"{self._who(progress.writer)}"
                    )
                    return
                continue
            stored = self.coordinator.offsets[partition]
            start = planned.range.start
            gap = self._gap(partition, progress, progress.epoch, stored.offset, start)
            if gap is not None:
                self.world.fail(
                    f"P1: {driver.name} plans {partition} {planned.range} past {gap}, "
                    f"which is in no finished batch (the group's offset is {stored.offset})"
                )
                return
            if other := self._other_holder(driver, partition):
                self.world.fail(
                    f"P2: {driver.name} plans {partition}, which {other.name} may plan, too"
                )
                return

    def _moved_unfairly(self, driver: Driver, number: int, partition: TopicPartition) -> bool:
        progress = self.of(partition)
        writer = self.drivers.get(progress.writer)
        if writer is not None and writer.query is driver.query:
            # Its twin's, or its own write that arrived late.
            return False
        if partition in self.moved_by_replay or self.removed_by.get(number) in _UNHEARD:
            self.counts["plan under a fence moved unheard"] += 1
            return False
        return self._believes(driver) and progress.changed_at <= driver.call_began

    def _other_holder(self, driver: Driver, partition: TopicPartition) -> Driver | None:
        """Another member, whose next boundary would plan it without any request."""
        mine = self.removed_by.get(self.number_of(driver))
        for number, other in self.drivers.items():
            if other is driver or other.gone or other.process.planner_dead:
                continue
            if other.process.access.paused or partition not in brokered(other).holdings.held:
                continue
            unheard = {mine, self.removed_by.get(number)} & {*_UNHEARD, "forgotten"}
            if self._believes(other) and not unheard:
                return other
        return None

    def _believes(self, driver: Driver) -> bool:
        return brokered(driver).lease.is_valid

    def number_of(self, driver: Driver) -> int:
        return int(driver.number)  # type: ignore[attr-defined]

    def _accepts(self, planned: PlannedRange) -> bool:
        stored = self.coordinator.offsets.get(planned.partition)
        held = GroupOffset(None) if stored is None else GroupOffset(stored.offset, stored.metadata)
        return replayed(planned.range, planned.fence, held, mine=True) == "include"

    def moved_by_another(self, driver: Driver, partition: TopicPartition) -> bool:
        """Or by a late request of this member, within one generation."""
        return partition in self.set_back_late or super().moved_by_another(driver, partition)

    def was_set_back(self, partition: TopicPartition, mine: Delivery, other: Delivery) -> bool:
        """Only what lies between the offset that was set and the one before."""
        start = max(mine.start, other.start)
        return any(
            at >= other.at and new <= start < old
            for at, new, old in self.set_backs.get(partition, ())
        )

    def excused(self, partition: TopicPartition, batch: Batch, why: list[str], rows: int) -> None:
        """Each fault allows at most one more delivery of what was in flight."""
        super().excused(partition, batch, why, rows)
        self.rows_excused[partition] += rows
        # Of three deliveries of one row it is not known which fault has caused which.
        in_flight = [
            (one.ranges[partition].range, len(one.excuses[partition]))
            for query in {driver.query for driver in self.drivers.values()}
            for one in query.batches
            if partition in one.ranges and one.excuses.get(partition)
        ]
        if self.rows_excused[partition] > sum(len(r) * faults for r, faults in in_flight):
            self.world.fail(
                f"P3: {self.rows_excused[partition]} rows of {partition} came again, {batch} "
                f"among them, but faults befell only {in_flight}"
            )

    def logged(self, driver: Driver, batch: Batch) -> None:
        rows = [r for r in batch.plan.ranges if len(r.range)]
        self.world.tell(
            f"{driver.name} logs batch {batch.number}: "
            + ", ".join(f"{r.partition}{r.range}" for r in rows)
        )
        self.counts["batch"] += 1
        self.counts["row"] += sum(len(r.range) for r in rows)
        number = self.number_of(driver)
        batch.proved_at = self.proved_at.get(number, self.world.now)
        group = self.coordinator.group
        is_member = any(m.client == number for m in group.members.values())
        for planned in batch.plan.ranges:
            partition, progress = planned.partition, self.of(planned.partition)
            batch.epochs[partition] = progress.epoch
            excuses = batch.excuses.setdefault(partition, [])
            if not self._accepts(planned) and progress.writer not in self.drivers:
                # Set by the operator after the proof: the batch is of what was before.
                batch.epochs[partition] = -1
            elif not self._accepts(planned) and partition in self.moved_by_replay:
                excuses.append("its fence was moved in another's replay")
            if not is_member or number in self.removed_by:
                excuses.append("lost between proof and log")
            if self._has_twin(driver):
                excuses.append("a second driver")
            if len(planned.range):
                self.in_flight.add(partition, batch)
        self.check_replayable(driver, batch, self._accepts)

    def left(self, driver: Driver) -> None:
        number = self.number_of(driver)
        if self._is_refused_lately(number):
            self.counts["left without a last commit"] += 1
            driver.process.access.refusals += 1
        super().left(driver)

    def _is_refused_lately(self, number: int) -> bool:
        return self.world.now - self.refused_at.get(number, float("-inf")) < _LATELY_S

    def failed(self, driver: Driver, error: BaseException) -> None:
        if isinstance(error, ZkgroupError):
            self.counts[f"fatal: {type(error).__name__}"] += 1
        if self.number_of(driver) in self.refused_for_good and isinstance(
            error, AccessError | ServerError | FencedError
        ):
            driver.process.access.refusals += 1
            self.world.tell(f"{driver.name} is refused: {error}")
            self.fault(driver, "the brokers refuse it for good")
            return
        super().failed(driver, error)

    # -- at the end

    def committed_offset(self, partition: TopicPartition) -> int | None:
        stored = self.coordinator.offsets.get(partition)
        return None if stored is None else stored.offset

    def uncommitted(self) -> list[str]:
        """What a late request has set back remains so until there is more to read."""
        found = []
        for partition, log in sorted(self.kafka.logs.items()):
            if partition in self.set_back_late:
                continue
            at = self.committed_offset(partition)
            if at != log.latest:
                found.append(f"{partition} at {at} of {log.latest}")
        return found
