"""Planners in Spark's order whose group the brokers coordinate."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import cast

from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.protocols.kafka.membership import KafkaMembership
from tests.harness.produced_topics import ProducedTopics
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

# The shortest that brokers allow by default.
SESSION_MS = 6000


class KafkaQuery(Query):
    def __init__(self, options: dict[str, str], checkpoint: Checkpoint | None = None) -> None:
        super().__init__(options, checkpoint)
        self.kafka = cast(KafkaMembership, self.membership)

    def crash(self) -> None:
        """Stop without notice; the coordinator finds out by the session's timeout."""
        self.planner.silence.ended.set()
        self.kafka.lease.requests.close()
        self.kafka.departure.keeper.close(leave=False)
        self.brokers.close()

    def connect(self) -> GroupCoordinator:
        return GroupCoordinator(Cluster(self.brokers.fetch_settings()), self.options.group.id)


class KafkaGroup(ProducedTopics):
    """Made for one test: it has unique names, and everything it started ends with it."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox, f"k{uuid.uuid4().hex[:8]}")
        self.queries: list[KafkaQuery] = []

    def query(
        self,
        topic: str = "",
        checkpoint: Checkpoint | None = None,
        *,
        changes: Mapping[str, str] | None = None,
        **more: str,
    ) -> KafkaQuery:
        options = {
            "protocol": "kafka",
            "group.id": self.name,
            "threads": "2",
            "startingOffsets": "earliest",
            "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
            "rebalance.wait.ms": "300",
            "session.timeout.ms": str(SESSION_MS),
            "heartbeat.interval.ms": "200",
            **({"subscribe": topic} if topic else {}),
        }
        for name, value in {**(changes or {}), **more}.items():
            option = name.replace("_", ".")
            options[_SPELT.get(option, option)] = value
        query = KafkaQuery(options, checkpoint)
        self.queries.append(query)
        return query

    def close(self) -> None:
        for query in self.queries:
            query.stop()


_SPELT = {
    "starting": "startingOffsets",
    "maxOffsets": "maxOffsetsPerTrigger",
    "pattern": "subscribePattern",
    "wait": "rebalance.wait.ms",
    "refresh": "metadata.refresh.ms",
    "silence": "max.poll.interval.ms",
    "assignor": "partition.assignment.strategy",
}


@contextmanager
def kafka_group_of(sandbox: Sandbox) -> Iterator[KafkaGroup]:
    group = KafkaGroup(sandbox)
    try:
        yield group
    finally:
        group.close()


def settle(*queries: KafkaQuery, deadline_s: float = 30.0) -> None:
    """Trigger in turn until all hold their share and nothing is left to read, twice in a row."""
    calm_rounds = 0

    def calm() -> bool:
        nonlocal calm_rounds
        rows = sum(query.trigger() for query in queries)
        settled = all(
            q.planner.boundary.standing.settled and not q.kafka.stirred() for q in queries
        )
        calm_rounds = calm_rounds + 1 if rows == 0 and settled else 0
        return calm_rounds >= 2

    wait_until(calm, deadline_s, "all members to settle", interval_s=0.0)
