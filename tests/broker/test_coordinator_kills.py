"""`zkgroup coordinator` as processes, ended and killed while a group reads on. Real servers."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from kazoo.exceptions import NoNodeError

from pyspark_zkgroup.protocols.coordinator.rules.candidacy import parse_candidacy
from tests.harness.group import Group, all_rows, missing, settle, twice
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

COORDINATOR = "/consumers/coordinator"
SESSION_S = 2.0
PROGRAM = "from pyspark_zkgroup.cli.main import main; main()"


class Candidates:
    """Processes, by the name each has in its node while it is in office."""

    def __init__(self, group: Group) -> None:
        self.group = group
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._numbers = itertools.count()

    def start(self) -> str:
        name = f"candidate-{next(self._numbers)}"
        connect = self.group.options()["zookeeper.connect"]
        given = ["--name", name, "--session-timeout-ms", str(int(SESSION_S * 1000))]
        self.running[name] = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "coordinator", "--zookeeper", connect, *given],
            stderr=subprocess.DEVNULL,
        )
        return name

    def in_office(self) -> str:
        with contextlib.suppress(NoNodeError):
            return parse_candidacy(COORDINATOR, self.group.client.get(COORDINATOR)[0]).name
        return ""

    def end(self, name: str, number: signal.Signals) -> int:
        process = self.running.pop(name)
        os.kill(process.pid, number)
        return process.wait(20)

    def close(self) -> None:
        for process in self.running.values():
            process.kill()
            process.wait(20)


@pytest.fixture
def candidates(sandbox: Sandbox) -> Iterator[Candidates]:
    group = Group(sandbox)
    made = Candidates(group)
    try:
        yield made
    finally:
        made.close()
        group.close()


def members(candidates: Candidates, topic: str, count: int) -> list[Query]:
    return [candidates.group.query(topic, protocol="coordinator") for _ in range(count)]


def wait_whole(queries: list[Query], partitions: int) -> None:
    """Wait until all is held, and every query has a part of it."""

    def whole() -> bool:
        for query in queries:
            query.trigger()
        held = [len(query.held) for query in queries]
        return sum(held) == partitions and all(held)

    wait_until(whole, 20, "all partitions to be held", interval_s=0.0)


def test_a_coordinator_that_is_stopped_is_replaced_at_once(candidates: Candidates) -> None:
    group = candidates.group
    topic = group.topic(6)
    group.produce(topic, 5)
    first = candidates.start()
    wait_until(lambda: candidates.in_office() == first, 30, "the first one in office")
    second = candidates.start()
    (a,) = members(candidates, topic, 1)
    wait_whole([a], 6)
    assert candidates.end(first, signal.SIGTERM) == 0
    wait_until(lambda: candidates.in_office() == second, 30, "the second one in office")
    (b,) = members(candidates, topic, 1)
    wait_whole([a, b], 6)
    settle(a, b)
    assert missing(group, all_rows(a, b)) == [] == twice(all_rows(a, b))


@pytest.mark.long
@pytest.mark.timeout(900)
def test_twenty_coordinators_are_killed_two_seconds_after_their_election(
    candidates: Candidates,
) -> None:
    group = candidates.group
    topic = group.topic(24)
    for _ in range(3):
        candidates.start()
    queries = members(candidates, topic, 3)
    group.produce(topic, 10)
    for kill in range(20):
        elected = wait_until(
            lambda: candidates.running.keys() & {candidates.in_office()}, 30, "an election"
        )
        (name,) = elected
        until = time.monotonic() + 2.0
        while time.monotonic() < until:
            for query in queries:
                query.trigger()
        # A member joins or leaves just before, so that each term ends in a rebalance.
        if len(queries) < 4:
            queries += members(candidates, topic, 1)
            queries[-1].trigger()
        else:
            leaver = queries.pop(kill % 4)
            leaver.drain()  # the boundary that finds nothing new has committed the last batch
            leaver.stop()
        group.produce(topic, 2)
        candidates.end(name, signal.SIGKILL)
        candidates.start()
    killed = time.monotonic()
    wait_whole(queries, 24)
    took = time.monotonic() - killed
    print(f"settled {took:.1f} s after the last kill")
    settle(*queries)
    rows = all_rows(*group.queries)
    assert missing(group, rows) == [] == twice(rows)
