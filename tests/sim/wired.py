"""A process whose view of the brokers, and whose tasks, are the product's own, down to the wire.

Where nothing befalls the brokers' logs a scene does with tests/fakes/kafka.py's FakeView, which
costs far fewer steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.fetch import Reading
from pyspark_zkgroup.kafka.open_ranges import OpenRanges
from pyspark_zkgroup.model import NO_MARK, Mark, OffsetRange, TopicPartition
from pyspark_zkgroup.options import Options
from pyspark_zkgroup.planning.cluster_view import ClusterView
from tests.fakes.kafka import LIFE_MARK, FakeKafka, FakeView, Log, Pieces
from tests.fakes.wire_cluster import WireCluster, batches, wire_id
from tests.sim.copies import CopyingView
from tests.sim.ledger import Covered

if TYPE_CHECKING:
    from tests.sim.process import Process


def view(
    kafka: FakeKafka,
    process: Process,
    options: Options,
    copied: Callable[[TopicPartition, int], None],
) -> FakeView | WiredView:
    if kafka.is_wired:
        return WiredView(kafka, process, options)
    given = (kafka, process.reaches, process.step, process.clock.monotonic)
    if options.group.offsets_storage == "kafka":
        return CopyingView(*given, copied)
    return FakeView(*given)


class WiredView(ClusterView):
    """`tasks`: what the tasks know of the cluster, in processes of their own that live on."""

    def __init__(self, kafka: FakeKafka, process: Process, options: Options) -> None:
        super().__init__(options, process.clock)
        self.kafka = kafka
        self.process = process
        self.lost = 0
        self.tasks = self._cluster_of("tasks")

    def _cluster_of(self, who: str) -> Cluster:
        process, name = self.process, f"{self.process.name} {who}"
        given = (self.kafka, self.fetch_settings(), process.clock, process.step, process.reaches)
        return WireCluster(*given, name)  # type: ignore[return-value]

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._cluster_of("planner")
        return self._cluster

    def read(self, partition: TopicPartition, wanted: OffsetRange, mark: Mark = NO_MARK) -> Pieces:
        """As a task does. What it does not read is gone, and counted; nothing else."""
        opened = OpenRanges(self.tasks, {partition: wanted}, {partition: mark})
        reading = Reading(self.tasks, opened)
        pieces: Pieces = []
        got = Covered()
        while opened.in_order:
            for raw in reading.step():
                for start, until, which in batches(raw.data):
                    start, until = max(start, raw.wanted.start), min(until, raw.wanted.until)
                    pieces.append((OffsetRange(start, until), which))
                    got.add(start, until)
        self._check(partition, wanted, mark, got, opened.lost_count)
        # No member ever reads a marker, and a read that reaches it passes it.
        log = self._log(partition)
        passed = sorted(log.holes & self._there(partition, wanted, mark, got))
        return pieces + [(OffsetRange(hole, hole + 1), log.named(hole)) for hole in passed]

    def _log(self, partition: TopicPartition) -> Log:
        return self.kafka.logs.get(partition) or Log(0)

    @staticmethod
    def _left(wanted: OffsetRange, got: Covered) -> set[int]:
        return {
            offset
            for offset in range(wanted.start, wanted.until)
            if got.first_gap(offset, offset + 1) is not None
        }

    def _there(self, tp: TopicPartition, wanted: OffsetRange, mark: Mark, got: Covered) -> set[int]:
        """What was left unread, and is in the log as when it was planned."""
        log = self._log(tp)
        return {
            offset
            for offset in self._left(wanted, got)
            if log.earliest <= offset < log.latest
            and is_as_planned(log.named(offset), mark, tp.topic)
        }

    def _check(
        self, tp: TopicPartition, wanted: OffsetRange, mark: Mark, got: Covered, told: int
    ) -> None:
        there = self._there(tp, wanted, mark, got)
        gone = len(self._left(wanted, got)) - len(there)
        exists = there - self._log(tp).holes
        fail = self.process.world.fail
        who = f"a task of {self.process.name}"
        self.lost += told
        if exists:
            fail(f"P1: {who} skips {tp} {wanted} at {min(exists)}, which exists")
        elif gone != told:
            fail(f"P1: {who} reads {tp} {wanted} but for {gone}, and tells of {told}")


def is_as_planned(which: int, planned: Mark, topic: str) -> bool:
    """Whether a record was there when the range was planned: no later leader has written it."""
    life, epoch = divmod(which, LIFE_MARK)
    if planned.topic_id and planned.topic_id != wire_id(topic, life):
        return False
    return not planned.is_known or epoch <= planned.epoch
