"""Offsets of a group that keeps a copy of them in Kafka (offsets.storage=kafka), in a share of the
scenes: what is copied, by which member, and that the copy is right in the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from random import Random
from typing import TYPE_CHECKING

from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.model import BrokerMember, CommitRefused, StoredOffset, TopicPartition
from pyspark_zkgroup.protocols.owned.rules import kafka_copy
from tests.fakes.kafka import FakeKafka, FakeView

if TYPE_CHECKING:
    from tests.sim.node_checks import NodeChecks

_SHARE = 0.1
OPTION = "offsets.storage"


def options(seed: int) -> dict[str, str]:
    is_drawn = Random(f"{seed} copies").random() < _SHARE
    return {OPTION: "kafka"} if is_drawn else {}


class CopyingView(FakeView):
    def __init__(
        self,
        kafka: FakeKafka,
        reaches: Callable[[], bool],
        step: Callable[[str], None],
        now: Callable[[], float],
        copied: Callable[[TopicPartition, int], None],
    ) -> None:
        super().__init__(kafka, reaches, step, now)
        self.copied = copied

    def group_offsets(
        self, partitions: Collection[TopicPartition]
    ) -> Mapping[TopicPartition, StoredOffset]:
        self._ask("group offsets")
        copies = self.kafka.copies
        return {p: copies[p] for p in partitions if p in copies}

    def commit_group_offsets(
        self, offsets: Mapping[TopicPartition, int], note: str, *, timeout_s: float
    ) -> Mapping[TopicPartition, CommitRefused]:
        del timeout_s
        self._ask("copy")
        for partition, offset in offsets.items():
            self.kafka.copies[partition] = StoredOffset(offset, note)
            self.copied(partition, offset)
        return {}

    def group_members(self, *, timeout_s: float) -> Collection[BrokerMember]:
        del timeout_s
        self._ask("group members")
        return ()

    live_namesakes = group_members


class Copies:
    """What is copied was in ZooKeeper before. A member that has lost a partition may still move its
    copy back, until its successor commits.
    """

    def __init__(self, checks: NodeChecks) -> None:
        self.checks = checks
        self.by_others: set[TopicPartition] = set()

    def copied(self, session: int, name: str, partition: TopicPartition, offset: int) -> None:
        checks = self.checks
        checks.counts["copy"] += 1
        if offset not in checks.of(partition).values:
            checks.world.fail(
                f"P4: {name} copies {offset} of {partition}, which was never committed"
            )
        if checks.owner.get(partition) == session:
            self.by_others.discard(partition)
        else:
            checks.counts["copy by one who has lost it"] += 1
            self.by_others.add(partition)

    def check(self) -> None:
        """Checked when all have left."""
        for partition, copy in sorted(self.checks.kafka.copies.items()):
            node = self.checks.nodes.offset(partition)
            value = None if node is None else parse_offset(node.data)
            if partition in self.by_others or partition not in self.checks.kafka.logs:
                continue
            if self.checks.of(partition).writer in self.checks.jvm_sessions:
                continue  # which commits to ZooKeeper alone
            if copy.offset != value or not kafka_copy.is_copy(copy):
                self.checks.world.fail(f"the copy of {partition} is {copy}, its offset {value}")
