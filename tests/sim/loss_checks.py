"""What is checked where logs lose records, or have some that must not be visible yet."""

from __future__ import annotations

from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from pyspark_zkgroup.ranges.gaps import Gap
from tests.sim.ledger import Covered
from tests.sim.node_checks import UNSEEN_S, NodeChecks
from tests.sim.query import Batch, Driver
from tests.sim.wired import is_as_planned


class LossChecks(NodeChecks):
    def cut(self, driver: Driver, partition: TopicPartition, at: int, end: int) -> None:
        """This member alone holds it, and must report the loss of what it has seen of the log."""
        self.of(partition).cut(at, end)
        seen = driver.planner.boundary.logs._seen.get(partition)
        if seen is not None and seen.offset > at:
            self.cuts_owed.add((driver.name, partition, at, seen.offset))

    def not_looked_at(self, partition: TopicPartition) -> None:
        """Of a recreated topic ZooKeeper informs the next holder; of a cut log nothing does."""
        node = self.nodes.offset(partition)
        self.of(partition).unlooked = None if node is None else parse_offset(node.data)

    def told_loss(self, driver: Driver, gap: Gap) -> None:
        partition = gap.partition
        self.of(partition).unlooked = None
        owed = [one for one in sorted(self.cuts_owed) if one[1] == partition]
        if gap.kind == "recreated" and not owed and (driver.name, partition) in self.misled:
            # Planned in the second in which it was not seen, after ZooKeeper had reported it.
            self.counts["a recreated topic reported twice"] += 1
            self.misled.discard((driver.name, partition))
            return
        if not owed and gap.seen is None and partition in self.unowed:
            self.counts["loss told by the next holder, excused before"] += 1
            return
        own = {
            one
            for one in self.no_longer_owed
            if one[:3] == (driver.name, partition, gap.cut_at) and one[3] <= (gap.seen or 0)
        }
        if not owed and own:
            # It was cut off when the partition was taken away, and has it again.
            self.counts["loss told by the former holder"] += 1
            self.no_longer_owed -= own
            return
        if owed and owed[0][0] != driver.name and gap.seen is None:
            # docs/operations.md: a partition that comes from another member.
            self.counts["loss told by the next holder"] += 1
            self.cuts_owed.remove(owed[0])
            return
        if gap.kind not in ("truncated", "recreated") or not owed or owed[0][0] != driver.name:
            self.world.fail(f"P1: {driver.name} tells of {gap}, but owed is {owed}")
            return
        self.counts[f"loss told: {gap.kind}"] += 1
        self.cuts_owed.remove(owed[0])
        _, _, at, seen = owed[0]
        if self.world.now < self.made_at.get(partition.topic, 0.0) + UNSEEN_S:
            self.misled.add((driver.name, partition))
        unread = self._never_planned(partition, at, seen)
        if gap.kind == "recreated" and seen < (gap.seen or 0):
            # In the second in which it was not seen, the new log was taken for the old one.
            self.counts["a loss told with the new log's end"] += 1
        elif gap.lost > unread and (gap.cut_at, gap.lost) == (
            at,
            seen - self._group_is_at(gap, at),
        ):
            # Another member had read some of it in a batch that was never committed.
            self.counts["a loss told with an uncommitted batch of another"] += 1
        elif (gap.cut_at, gap.lost) != (at, unread):
            self.world.fail(f"P1: {driver.name} tells of {gap}, but {unread} from {at} are lost")

    def _group_is_at(self, gap: Gap, at: int) -> int:
        node = self.nodes.offset(gap.partition)
        committed = None if node is None else parse_offset(node.data)
        return max(at, committed or 0)

    def _never_planned(self, partition: TopicPartition, start: int, until: int) -> int:
        """Check that the task of a batch has read what was planned, or has itself reported it as
        lost.
        """
        planned = Covered()
        for query in {driver.query for driver in self.drivers.values()}:
            for batch in query.batches:
                if batch.finished and partition in batch.ranges:
                    one = batch.ranges[partition].range
                    planned.add(one.start, one.until)
        start = max(start, self.of(partition).owed_from.get(0, 0))
        return max(0, until - start) - planned.rows(start, until)

    def check_visible(self, driver: Driver, plan: Plan) -> None:
        """Check that members that wait for the end of open transactions plan nothing of them."""
        if driver.options.fetch.isolation != "read_committed":
            return
        for planned in plan.ranges:
            log, until = self.kafka.logs.get(planned.partition), planned.range.until
            if log is None or log.open_from is None or planned.mark.epoch != log.epoch:
                continue
            if len(planned.range) and until > log.open_from:
                self.world.fail(
                    f"P1: {driver.name} plans {planned.partition} {planned.range}, but an open "
                    f"transaction begins at {log.open_from}"
                )

    def _is_another(self, batch: Batch, partition: TopicPartition, life: int) -> bool:
        """Return whether such a record did not exist when the batch was planned."""
        mark = batch.ranges[partition].mark
        return self.kafka.is_wired and not is_as_planned(life, mark, partition.topic)
