"""What is checked of each transaction of ZooKeeper: owners, first positions, commits."""

from __future__ import annotations

from collections import Counter

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.port import Node
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import Change, FakeZookeeper, Write
from tests.sim.copies import Copies
from tests.sim.group_nodes import GroupNodes
from tests.sim.in_flight import InFlight
from tests.sim.judge import Judge
from tests.sim.ledger import Progress
from tests.sim.query import Driver
from tests.sim.world import World

# Looks are a second apart, and a broker may take its time.
UNSEEN_S = 3.0


class NodeChecks(Judge):
    def __init__(self, world: World, server: FakeZookeeper, kafka: FakeKafka, group: str) -> None:
        self.world = world
        self.server = server
        self.kafka = kafka
        self.nodes = GroupNodes(server, group)
        self.drivers: dict[int, Driver] = {}
        self.jvm_sessions: dict[int, str] = {}
        self.owner: dict[TopicPartition, int] = {}
        self.lost_at: dict[tuple[int, TopicPartition], float] = {}
        self.progress: dict[TopicPartition, Progress] = {}
        self.in_flight = InFlight()
        self.counts: Counter[str] = Counter()
        self.allowed_faults: set[str] = set()
        self.cuts_owed: set[tuple[str, TopicPartition, int, int]] = set()
        self.unowed: set[TopicPartition] = set()
        self._stops: set[tuple[str, int, TopicPartition, str]] = set()
        self.no_longer_owed: set[tuple[str, TopicPartition, int, int]] = set()
        """Cut logs of which the next holder may find at most that they end too soon."""
        self.rolling_back = False
        self.made_at: dict[str, float] = {}
        self.misled: set[tuple[str, TopicPartition]] = set()
        self.known_topics: dict[str, set[int]] = {}
        self.vandalised: set[tuple[int, TopicPartition]] = set()
        self.taken_over: set[tuple[int, TopicPartition]] = set()
        self.copies = Copies(self)
        server.lookers.append(self.on_write)

    def of(self, partition: TopicPartition) -> Progress:
        progress = self.progress.get(partition)
        if progress is None:
            progress = self.progress[partition] = Progress()
        return progress

    # -- ZooKeeper's transactions

    def on_write(self, write: Write) -> None:
        for change in write.changes:
            if self.nodes.is_of_owner(change.path):
                self._owner(write, change)
            elif self.nodes.is_of_offset(change.path):
                self._offset(write, change)
        driver = self.drivers.get(write.session) if write.ending else None
        # A driver that is paused while it leaves may also outlive its own session.
        closing = driver is not None and driver.process.leaving and write.closed
        if driver is not None and not driver.left and not closing:
            self.fault(driver, "its session ended")

    def _owner(self, write: Write, change: Change) -> None:
        partition = self.nodes.owned(change.path)
        if partition is None:
            return
        if change.before is None and change.after is not None:
            self.owner[partition] = change.after.ephemeral_owner
        elif change.after is None and change.before is not None:
            holder = change.before.ephemeral_owner
            self.owner.pop(partition, None)
            self.lost_at[holder, partition] = self.world.now
            self._taken_away(partition)
            if write.session == 0:
                self._vandalised(holder, partition)
            if not write.ending and write.session not in (0, holder):
                self._foreign_delete(write, change, partition, holder)
        elif change.after is not None and change.after.ephemeral_owner != write.session:
            self.world.fail(
                f"P2: {self._who(write.session)} rewrites the owner node of {partition}, which is "
                f"{change.after.ephemeral_owner:#x}'s"
            )

    def _taken_away(self, partition: TopicPartition) -> None:
        """A log that is lost in the moment in which its partition is taken away: the holder has not
        looked since, and the next one continues at the group's offset and cannot know
        (docs/operations.md), unless it is beyond the log's end.
        """
        progress = self.of(partition)
        if progress.unlooked is not None:
            self.counts["a log lost as its partition was taken away"] += 1
            progress.owed_from[progress.epoch] = progress.unlooked
            progress.unlooked = None
            dropped = {owed for owed in self.cuts_owed if owed[1] == partition}
            self.cuts_owed -= dropped
            self.no_longer_owed |= dropped
            self.unowed.add(partition)

    def _vandalised(self, holder: int, partition: TopicPartition) -> None:
        self.vandalised.add((holder, partition))
        driver = self.drivers.get(holder)
        if driver is not None:
            self.in_flight.excuse(partition, "its owner node was deleted", driver.query)

    def _foreign_delete(
        self, write: Write, change: Change, partition: TopicPartition, holder: int
    ) -> None:
        if write.session in self.jvm_sessions:
            # It deletes what it once created without a check whose node that is by now: an operator
            # had deleted it, or the answer to its first delete was lost.
            self._vandalised(holder, partition)
            return
        driver = self.drivers[write.session]
        other = self.drivers.get(holder)
        query = driver.query
        if (query.static or query.twins) and other is not None and other.query is query:
            self.taken_over.add((holder, partition))
            self.fault(other, "its nodes were taken over under its id")
            return
        self.world.fail(
            f"P2: {driver.name} deleted the owner node of {partition}, which is {holder:#x}'s"
        )

    def _offset(self, write: Write, change: Change) -> None:
        partition = self.nodes.committed(change.path)
        if partition is None:
            return
        progress = self.of(partition)
        progress.changed_at = self.world.now
        progress.writer = write.session
        old = parse_offset(change.before.data) if change.before else None
        new = parse_offset(change.after.data) if change.after else None
        who = self._who(write.session)
        if write.session == 0 and change.after is None and "lost" in self.allowed_faults:
            # Not set by any client: what is rebuilt must not be behind anything unread.
            progress.lost = True
            self.in_flight.excuse(partition, "its offset node was lost")
            self.world.tell(f"the offset of {partition} is lost (was {old})")
        elif write.session == 0 and self._as_unanswered(partition, change.after):
            self.world.tell(f"operator sets {partition} to {new}, as an unanswered commit does")
        elif write.session == 0:
            self._set(partition, progress, change, old, new)
        elif change.after is None:
            self.world.fail(f"P4: {who} deleted the offset of {partition}")
        elif change.before is None:
            self._first(partition, progress, new, write.session)
        elif new is not None and old is not None and new != old:
            self.world.tell(f"{who} commits {partition} {old} -> {new}")
            if write.session in self.jvm_sessions:
                self._jvm_commit(partition, progress, old, new)
            else:
                self._commit(partition, progress, old, new, who)
        if new is not None:
            progress.values.add(new)
            self.in_flight.settle(partition, new, progress.epoch)

    def _set(
        self,
        partition: TopicPartition,
        progress: Progress,
        change: Change,
        old: int | None,
        new: int | None,
    ) -> None:
        """By no member."""
        if self.rolling_back and new is not None:
            self.world.tell(f"{partition} is rolled back to {new} (was {old})")
            progress.roll_back(new, self.world.now)
            return
        progress.epoch += 1
        progress.lost = False
        if change.before is None:
            progress.imported_at = self.world.now
        if new is not None:
            progress.owed_from[progress.epoch] = new
        self.world.tell(f"operator sets {partition} to {new} (was {old})")

    def _as_unanswered(self, partition: TopicPartition, node: Node | None) -> bool:
        """Return whether the node is just what the owner's unanswered commit would have made of it:
        then nothing shows whose write it was, and the owner reads on from there, as the write asks
        for.
        """
        driver = self.drivers.get(self.owner.get(partition, 0))
        known = driver.membership.holdings.known.get(partition) if driver else None
        if node is None or known is None or known.doubt is None:
            return False
        moved = NodeVersion(known.fence.czxid, known.fence.version + 1)
        return node.node == moved and parse_offset(node.data) == known.doubt

    def _first(
        self, partition: TopicPartition, progress: Progress, new: int | None, session: int
    ) -> None:
        """The offset node is made: a first position, or one rebuilt after the nodes were lost."""
        if new is None:
            return
        if progress.lost:
            progress.lost = False
            progress.was_lost = True
            progress.set_back_at = self.world.now
            self.world.tell(f"offset of {partition} rebuilt: {new}")
            owed = progress.owed_from.get(progress.epoch, 0)
            gap = self._gap(partition, progress, progress.epoch, owed, new)
            if gap is not None and self._is_left_out(partition, new, session):
                self.counts["rebuilt behind a range that its replay left out"] += 1
                progress.owed_from[progress.epoch] = new
            elif gap is not None:
                self.world.fail(f"P1: {partition} is rebuilt at {new}, but {gap} was never read")
            return
        numbers = self.known_topics.setdefault(partition.topic, set())
        log = self.kafka.logs.get(partition)
        if progress.epoch == 0 and 0 not in progress.owed_from:
            ours = log is not None and session not in self.jvm_sessions
            later = bool(numbers) and max(numbers) < partition.partition
            if ours and later and log is not None and new != log.earliest:
                self.world.fail(
                    f"P1: {partition} appeared later and starts at {new}, not {log.earliest}"
                )
            progress.owed_from[0] = new
            self.world.tell(f"first position of {partition}: {new}")
        else:
            # Deleted by an operator, so that the group begins again.
            progress.epoch += 1
            progress.owed_from[progress.epoch] = new
            self.world.tell(f"offset of {partition} made again: {new}")
        topic_numbers = {p.partition for p in self.kafka.partitions_of(partition.topic)}
        numbers |= topic_numbers

    def _is_left_out(self, partition: TopicPartition, until: int, session: int) -> bool:
        """Return whether the checkpoint of this driver ends with a batch whose replay has left the
        range out. Spark's log has it as finished all the same, and only the fence in the group's
        node, which is lost, shows otherwise (docs/operations.md).
        """
        driver = self.drivers.get(session)
        if driver is None or not driver.query.batches:
            return False
        last = driver.query.batches[-1]
        planned = last.ranges.get(partition)
        left_out = last.finished and partition not in last.sunk
        return left_out and planned is not None and planned.range.until == until

    def _commit(
        self, partition: TopicPartition, progress: Progress, old: int, new: int, who: str
    ) -> None:
        gap = self._gap(partition, progress, progress.epoch, old, new)
        driver = self.drivers.get(progress.writer)
        if (new < old or gap is not None) and driver and driver.began < progress.imported_at:
            # No transaction compares lives. Deleted and imported under a running member, a node may
            # have the very version that member wrote last or has just read: one more write, and
            # its own fits. Tools refuse this while members live.
            self.counts["an import overwritten"] += 1
            progress.epoch += 1
            progress.owed_from[progress.epoch] = new
            if partition in self.kafka.logs:
                # Its owner sees it by the proof before its next plan: there has to be one.
                self.kafka.produce(partition, 1)
            return
        cut_at = progress.cuts.get(progress.epoch - 1, new + 1)
        if cut_at <= new < old:
            old = cut_at
        is_of_before = driver is not None and (
            self._is_of_before(driver, partition, new) or _remembers(driver, partition, new)
        )
        if progress.rolled_back and is_of_before:
            # Versions that were there before come again, and with them fences.
            self.counts["committed under a fence that came again"] += 1
            self.in_flight.excuse(partition, "a fence came again")
            if new < old:
                progress.set_back_at = self.world.now
                return
        if new < old:
            self.world.fail(f"P4: {who} commits {partition} back from {old} to {new}")
            return
        if progress.was_lost:
            # Rebuilt by a member that knew less than another: the better knowledge may follow.
            old = max(old, progress.owed_from.get(progress.epoch, 0))
        is_cut = progress.epoch - 1 in progress.cuts
        if is_cut and driver and self._is_of_before(driver, partition, new):
            progress.unlooked = new
        gap = self._gap(partition, progress, progress.epoch, old, new)
        if gap is not None and driver and self._is_of_unseen(driver, partition, new):
            # Its tasks have found that the topic is another one, and have skipped the range. The
            # next look reports the loss, and goes back.
            self.counts["a range skipped of a recreated topic that was not seen yet"] += 1
            progress.unlooked = new
        elif gap is not None:
            self.world.fail(
                f"P1/P4: {who} commits {partition} from {old} to {new}, "
                f"but {gap} is in no finished batch"
            )

    def _is_of_before(self, driver: Driver, partition: TopicPartition, until: int) -> bool:
        """Return whether this is the end of a batch that was logged before this epoch."""
        return any(
            batch.epochs.get(partition, epoch) < epoch
            and batch.ranges[partition].range.until == until
            for epoch in [self.of(partition).epoch]
            for batch in driver.query.batches
            if partition in batch.ranges
        )

    def _is_of_unseen(self, driver: Driver, partition: TopicPartition, until: int) -> bool:
        """Return whether this is the end of a batch that was planned in the second in which a
        recreated topic is not seen (docs/operations.md).
        """
        made_at = self.made_at.get(partition.topic, float("-inf"))
        return any(
            made_at <= batch.proved_at < made_at + UNSEEN_S
            and batch.ranges[partition].range.until == until
            for batch in driver.query.batches
            if partition in batch.ranges
        )

    def _jvm_commit(
        self, partition: TopicPartition, progress: Progress, old: int, new: int
    ) -> None:
        self.counts["jvm commit"] += 1
        if new < old:
            progress.set_back_at = self.world.now
            self.counts["jvm commit back"] += 1
        elif self._gap(partition, progress, progress.epoch, old, new) is not None:
            # A zombie that knows nothing of a reset: its write is one as well.
            progress.epoch += 1
            progress.owed_from[progress.epoch] = new

    def _gap(
        self, partition: TopicPartition, progress: Progress, epoch: int, start: int, until: int
    ) -> int | None:
        log = self.kafka.logs.get(partition)
        if log is not None:
            start = max(start, log.earliest)
        return progress.gap(epoch, start, until)

    def _has_twin(self, driver: Driver) -> bool:
        """Return whether another driver of its checkpoint still exists, even if paused."""
        if not driver.query.twins:
            return False
        others = {d for d in self.drivers.values() if d.query is driver.query and d is not driver}
        return not all(d.gone for d in others)

    def _who(self, session: int) -> str:
        if session in self.jvm_sessions:
            return self.jvm_sessions[session]
        driver = self.drivers.get(session)
        return driver.name if driver else "operator"

    def fault(self, driver: Driver, reason: str) -> None:
        """Everything of this query that is in flight may come twice from now on."""
        self.world.tell(f"{driver.name}: {reason}")
        self.in_flight.excuse_all(driver.query, reason)


def _remembers(driver: Driver, partition: TopicPartition, done: int) -> bool:
    """Return whether that is the group's offset as the member last knew it, with or without a
    batch.
    """
    known = driver.membership.holdings.known.get(partition)
    return known is not None and known.done == done
