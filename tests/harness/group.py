"""One group on real servers, for tests that drive planners in this process."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from operator import ge
from typing import Any, Protocol

from kazoo.client import KazooClient

from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from tests.harness.produced_topics import ProducedTopics
from tests.harness.spark_order import Checkpoint, Query, Row
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Produced


class Group(ProducedTopics):
    """Made for one test: it has unique names, and everything it started ends with it."""

    def __init__(self, sandbox: Sandbox) -> None:
        super().__init__(sandbox, f"g{uuid.uuid4().hex[:8]}")
        self.client = KazooClient(self._connect(), timeout=20.0)
        self.client.start()
        self.queries: list[Query] = []

    def _connect(self) -> str:
        """Kafka 3.9 keeps its nodes under a chroot, and its groups there too; 4.1 has none."""
        if self.sandbox.parameters.kafka == "3.9":
            return self.sandbox.kafka_zookeeper_connect
        return self.sandbox.zookeeper_connect

    def options(self, topic: str = "", **changes: str) -> dict[str, str]:
        options = {
            "zookeeper.connect": self._connect(),
            "group.id": self.name,
            "threads": "2",
            "startingOffsets": "earliest",
            "zookeeper.session.timeout.ms": "3000",
            "kafka.bootstrap.servers": self.sandbox.bootstrap_servers,
            **({"subscribe": topic} if topic else {}),
        }
        for name, value in changes.items():
            option = name.replace("_", ".")
            options[_SPELT.get(option, option)] = value
        return options

    def query(
        self,
        topic: str = "",
        checkpoint: Checkpoint | None = None,
        *,
        available_now: bool = False,
        **changes: str,
    ) -> Query:
        options = self.options(topic, **changes)
        return self.query_of(options, checkpoint, available_now=available_now)

    def query_of(
        self,
        options: dict[str, str],
        checkpoint: Checkpoint | None = None,
        *,
        available_now: bool = False,
    ) -> Query:
        query = Query(options, checkpoint, available_now=available_now)
        self.queries.append(query)
        _let_a_millisecond_pass()
        return query

    def expire(self, query: Query) -> None:
        """The server ends the session; the query finds out later."""
        session: Any = query.membership.keeper.session
        assert session is not None
        client_id = session.client.client_id
        assert client_id is not None
        self.sandbox.expire_session(*client_id)

    def owners(self, topic: str) -> dict[int, str]:
        path = f"/consumers/{self.name}/owners/{topic}"
        if not self.client.exists(path):
            return {}
        return {
            int(p): self.client.get(f"{path}/{p}")[0].decode()
            for p in self.client.get_children(path)
        }

    def owner_lives(self, topic: str) -> dict[int, int]:
        """Return the life of each owner node: unchanged means that it was never deleted."""
        path = f"/consumers/{self.name}/owners/{topic}"
        return {
            int(p): self.client.get(f"{path}/{p}")[1].czxid for p in self.client.get_children(path)
        }

    def offset_path(self, topic: str, partition: int) -> str:
        return f"/consumers/{self.name}/offsets/{topic}/{partition}"

    def offsets(self, topic: str) -> dict[int, bytes]:
        path = f"/consumers/{self.name}/offsets/{topic}"
        if not self.client.exists(path):
            return {}
        return {int(p): self.client.get(f"{path}/{p}")[0] for p in self.client.get_children(path)}

    def dump(self, path: str = "/") -> dict[str, tuple[bytes, int]]:
        """Every node with its data and version."""
        data, stat = self.client.get(path)
        found = {path: (data, stat.version)}
        for child in self.client.get_children(path):
            found.update(self.dump(f"{path.rstrip('/')}/{child}"))
        return found

    def close(self) -> None:
        for query in self.queries:
            query.stop()
        self.client.stop()
        self.client.close()


@contextmanager
def group_of(sandbox: Sandbox) -> Iterator[Group]:
    group = Group(sandbox)
    try:
        yield group
    finally:
        group.close()


_SPELT = {
    "starting": "startingOffsets",
    "maxOffsets": "maxOffsetsPerTrigger",
    "pattern": "subscribePattern",
    "evidence": "checkpointLocation",
    "bootstrap": "kafka.bootstrap.servers",
    "strategy": "partition.assignment.strategy",
    "order": "partition.assignment.order",
    "wait": "rebalance.wait.ms",
    "session": "zookeeper.session.timeout.ms",
    "refresh": "metadata.refresh.ms",
    "storage": "offsets.storage",
    "dual": "dual.commit.enabled",
}


class HasProduced(Protocol):
    produced: dict[str, Produced]


def missing(group: HasProduced, rows: list[Row]) -> list[Row]:
    expected = {row for produced in group.produced.values() for row in produced.offsets()}
    return sorted(expected - set(rows))


def twice(rows: list[Row]) -> list[Row]:
    return sorted(row for row, count in Counter(rows).items() if count > 1)


def _let_a_millisecond_pass() -> None:
    """Who is given what goes by the members' names, and those by the time. Of two that were made in
    the same millisecond, chance would say which comes first.
    """
    made_ms = time.time_ns() // 1_000_000
    wait_until(
        lambda: time.time_ns() // 1_000_000 > made_ms, 10.0, "the next millisecond", interval_s=0.0
    )


def settle(*queries: Query, deadline_s: float = 20.0) -> None:
    """Trigger in turn until no query waits for a partition and nothing is left to read, twice in a
    row and at new log ends: events can wake an idle member again and again before it asks for them.
    """
    calm_since: list[list[float]] = []

    def calm() -> bool:
        calm_since.append([q.planner.clock.monotonic() for q in queries])
        rows = sum(query.trigger() for query in queries)
        settled = all(q.planner.boundary.standing.settled for q in queries)
        if rows or not settled or any(q.membership.stirred() for q in queries):
            calm_since.clear()
        asked_at = [q.planner.next_plan.ends.asked_at or 0.0 for q in queries]
        return len(calm_since) >= 2 and all(map(ge, asked_at, calm_since[0]))

    wait_until(calm, deadline_s, "all members to settle", interval_s=0.0)


def waits_for(query: Query, partition: int) -> str:
    return next(
        (
            text
            for p, text in query.planner.boundary.standing.waiting.items()
            if p.partition == partition
        ),
        "",
    )


def all_rows(*queries: Query) -> list[Row]:
    return [row for query in queries for row in query.rows]


def known(query: Query) -> dict[str, Any]:
    membership: OwnedMembership = query.membership
    return membership.status()
