"""A query without Spark: the real planner and the real task, called in Spark's order, with its
logs.

What it imitates is written down in DESIGN.md ("What Spark calls, and when") and was measured on
PySpark 4.2: the offset log before the tasks, the commit log after the sink, the next latestOffset
after both, a restart that begins with the unfinished batch. `crash()` is a kill -9: the ZooKeeper
session stays behind.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.planning.cluster_view import ClusterView
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.planning.silence import watch
from pyspark_zkgroup.protocols.choice import membership
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.tasks import reading as task
from tests.harness.waiting import REAL_TIME

Row = tuple[str, int, int]


class CrashError(Exception):
    """The driver died at this point."""


@dataclass
class Checkpoint:
    """Spark's two logs; `directory` mirrors them on disk where a test wants the planner to read
    them.
    """

    offsets: list[dict[str, Any]] = field(default_factory=list)
    commits: set[int] = field(default_factory=set)
    directory: Path | None = None

    def log_offset(self, offset: dict[str, Any]) -> int:
        # Through text, as Spark keeps it.
        self.offsets.append(json.loads(json.dumps(offset)))
        batch = len(self.offsets) - 1
        if self.directory is not None:
            (self.directory / "offsets").mkdir(parents=True, exist_ok=True)
            (self.directory / "commits").mkdir(parents=True, exist_ok=True)
            text = "v1\n{}\n" + json.dumps(offset)
            (self.directory / "offsets" / str(batch)).write_text(text)
        return batch

    def log_commit(self, batch: int) -> None:
        self.commits.add(batch)
        if self.directory is not None:
            (self.directory / "commits" / str(batch)).write_text("v1\n{}")


class Query:
    clock: Clock = REAL_TIME
    """By which a test waits for it."""

    def __init__(
        self,
        options: dict[str, str],
        checkpoint: Checkpoint | None = None,
        *,
        available_now: bool = False,
    ) -> None:
        self.options = parse(options)
        self.checkpoint = checkpoint or Checkpoint()
        self.batches: list[tuple[int, list[Row]]] = []
        self.planner = self._new_planner()
        self.available_now = available_now
        self._prepared = False
        self._start: dict[str, Any] | None = None

    def _new_planner(self) -> Planner:
        self.brokers = ClusterView(self.options)
        # Tests look into it; those of other memberships know what they find.
        self.membership = cast(OwnedMembership, membership(self.options, self.brokers))
        planner = Planner(self.options, self.membership, self.brokers)
        watch(planner.silence)
        return planner

    @property
    def rows(self) -> list[Row]:
        return [row for _, rows in self.batches for row in rows]

    @property
    def held(self) -> set[TopicPartition]:
        return set(self.membership.holdings.held)

    def trigger(self, at: Callable[[str], None] = lambda _step: None) -> int:
        """Run one trigger; return the number of rows it delivered. `at` is called with each step
        and may raise CrashError.
        """
        if not self._prepared:
            self._prepared = True
            if self.available_now:
                self.planner.prepare_available_now()
        if self._start is None:
            replayed = self._resume(at)
            if replayed is not None:
                return replayed
        assert self._start is not None
        end = self.planner.latest_offset(json.loads(json.dumps(self._start)), False)
        self.planner.report_latest()
        if end == self._start:
            return 0
        at("planned")
        batch = self.checkpoint.log_offset(end)
        at("logged")
        return self._run(batch, self._start, self.checkpoint.offsets[batch], at)

    def until(
        self, rows: int, deadline_s: float = 30.0, at: Callable[[str], None] = lambda _step: None
    ) -> None:
        """Trigger until so many rows were delivered in all."""

        def enough() -> bool:
            if len(self.rows) < rows:
                self.trigger(at)
            return len(self.rows) >= rows

        give_up_at = self.clock.monotonic() + deadline_s
        while not enough():
            if self.clock.monotonic() > give_up_at:
                raise AssertionError(f"{len(self.rows)} rows after {deadline_s} s, expected {rows}")

    def drain(self) -> None:
        """Available-now: until a trigger has nothing to do; a batch may have no rows."""
        batches = -1
        while batches < len(self.batches):
            batches = len(self.batches)
            self.trigger()

    def stop(self) -> None:
        self.planner.stop()
        self.brokers.close()

    def crash(self) -> None:
        """Stop without notice; the server finds out by the session's timeout."""
        session: Any = self.membership.keeper.session
        if session is not None:
            abandon(session.client)
        self.brokers.close()

    def _resume(self, at: Callable[[str], None]) -> int | None:
        logged = self.checkpoint.offsets
        if not logged:
            self._start = self.planner.initial_offset()
            return None
        last = len(logged) - 1
        if last in self.checkpoint.commits:
            self._start = logged[last]
            return None
        start = logged[last - 1] if last else self.planner.initial_offset()
        return self._run(last, start, logged[last], at)

    def _run(
        self, batch: int, start: dict[str, Any], end: dict[str, Any], at: Callable[[str], None]
    ) -> int:
        inputs = self.planner.partitions(start, end)
        at("partitions")
        rows: list[Row] = []
        for one in inputs:
            rows += self._read(one)
        at("read")
        self.batches.append((batch, rows))
        at("sunk")
        self.checkpoint.log_commit(batch)
        self._start = end
        at("finished")
        return len(rows)

    def _read(self, one: TaskInput) -> list[Row]:
        rows: list[Row] = []
        for arrow in task.read(one, self.brokers.fetch_settings()):
            columns = arrow.select(["topic", "partition", "offset"]).to_pydict()
            rows += zip(columns["topic"], columns["partition"], columns["offset"], strict=True)
        return rows


def abandon(client: Any) -> None:
    """Cut a kazoo client off without a word, as a kill -9 of its process does."""
    client._stopped.set()
    connection = client._connection
    if connection._socket is not None:
        connection._socket.shutdown(socket.SHUT_RDWR)
    client.abandon()
