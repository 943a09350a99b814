"""The brokers that the contract suite of the membership's port needs: real ones, and the fake of
the simulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.protocols.port import Brokers
from tests.fakes.kafka import FakeKafka, FakeView
from tests.harness.given_options import LEAST
from tests.harness.producing import produce
from tests.harness.retention import delete_records
from zkgroup_sandbox import Sandbox

NOBODY = "127.0.0.1:1"


class Cluster(Protocol):
    """What happens to a cluster, and how one process sees it."""

    def view(self) -> Brokers: ...

    def cut_off(self) -> Brokers:
        """Return the view of a process that cannot reach any broker."""

    def create_topic(self, name: str, partitions: int) -> None: ...

    def grow(self, name: str, to: int) -> None: ...

    def delete_topic(self, name: str) -> None: ...

    def produce(self, partition: TopicPartition, count: int) -> None:
        """Produce records; each has its offset as its time."""

    def lose_records(self, partition: TopicPartition, before: int) -> None: ...

    def close(self) -> None: ...


class RealCluster:
    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.ends: dict[TopicPartition, int] = {}
        self.views: list[ClusterView] = []

    def view(self) -> Brokers:
        return self._view(self.sandbox.bootstrap_servers)

    def cut_off(self) -> Brokers:
        return self._view(NOBODY)

    def _view(self, bootstrap: str) -> Brokers:
        self.views.append(ClusterView(parse({**LEAST, "kafka.bootstrap.servers": bootstrap})))
        return self.views[-1]

    def create_topic(self, name: str, partitions: int) -> None:
        # Otherwise retention would delete records of 1970.
        self.sandbox.create_topic(name, partitions, {"retention.ms": "-1"})

    def grow(self, name: str, to: int) -> None:
        self.sandbox.add_partitions(name, to)

    def delete_topic(self, name: str) -> None:
        self.sandbox.delete_topic(name)

    def produce(self, partition: TopicPartition, count: int) -> None:
        first = self.ends.get(partition, 0)
        self.ends[partition] = first + count
        for offset in range(first, first + count):
            produce(self.sandbox.bootstrap_servers, partition, [b"v"], timestamp_ms=offset)

    def lose_records(self, partition: TopicPartition, before: int) -> None:
        starts = {partition.partition: before}
        delete_records(self.sandbox.bootstrap_servers, partition.topic, starts)

    def close(self) -> None:
        for view in self.views:
            view.close()


def hurried() -> float:
    return time.monotonic() * 100


class FakedCluster:
    def __init__(self) -> None:
        self.kafka = FakeKafka()

    def view(self) -> Brokers:
        return FakeView(self.kafka, lambda: True, lambda _what: None, hurried)

    def cut_off(self) -> Brokers:
        return FakeView(self.kafka, lambda: False, lambda _what: None, hurried)

    def create_topic(self, name: str, partitions: int) -> None:
        self.kafka.make_topic(name, partitions)

    def grow(self, name: str, to: int) -> None:
        self.kafka.grow(name, to)

    def delete_topic(self, name: str) -> None:
        self.kafka.delete_topic(name)

    def produce(self, partition: TopicPartition, count: int) -> None:
        self.kafka.produce(partition, count)

    def lose_records(self, partition: TopicPartition, before: int) -> None:
        self.kafka.logs[partition].earliest = before

    def close(self) -> None:
        """Remove everything that belongs to the test."""


KINDS: dict[str, Callable[[pytest.FixtureRequest], Cluster]] = {
    "fake": lambda _: FakedCluster(),
    "3.9": lambda request: RealCluster(request.getfixturevalue("sandbox")),
    "4.1": lambda request: RealCluster(request.getfixturevalue("sandbox_41")),
}
