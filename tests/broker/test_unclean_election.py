"""A log that an unclean leader election cuts under a running query, on three real brokers.

The follower dies, the leader takes more records and dies too, and the follower comes back as the
leader: what it never had is gone. Before the query looks again the log has grown beyond the
query's position. Without leader epochs nothing shows, and the new records in between are skipped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from pyspark_zkgroup.errors import DataLossError, FetchError, ZkgroupError
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.kafka.wire import metadata_request
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.tasks import reading as task
from tests.harness.group import Group, group_of, known
from tests.harness.producing import produce
from tests.harness.spark_order import Checkpoint, Query, Row
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.broker import Broker

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

KEPT, CUT, NEW = 60, 40, 50
CONTROLLER = 1


class Valued(Query):
    """Keeps what stood at each offset."""

    values: list[tuple[int, bytes]]

    def _read(self, one: TaskInput) -> list[Row]:
        rows: list[Row] = []
        for arrow in task.read(one, self.brokers.fetch_settings()):
            columns = arrow.select(["topic", "partition", "offset", "value"]).to_pydict()
            rows += zip(columns["topic"], columns["partition"], columns["offset"], strict=True)
            self.values += zip(columns["offset"], columns["value"], strict=True)
        return rows


@dataclass
class Scene:
    group: Group
    sandbox: Sandbox
    partition: TopicPartition
    replicas: list[int]

    def query(self, checkpoint: Checkpoint | None = None, **options: str) -> Valued:
        made = Valued(self.group.options(self.partition.topic, **options), checkpoint)
        made.values = []
        self.group.queries.append(made)
        return made

    def produce(self, prefix: str, count: int) -> list[bytes]:
        values = [f"{prefix} {n}".encode() for n in range(count)]
        bootstrap = self.sandbox.bootstrap_servers
        produce(bootstrap, self.partition, values, acks="all", retries=20)
        return values

    def described(self) -> Any:
        """Leader, replicas and those in sync, as some broker knows them."""
        cluster = Cluster(FetchSettings(tuple(self.sandbox.bootstrap_servers.split(","))))
        try:
            answer = cluster.ask(lambda: metadata_request([self.partition.topic]), timeout_s=10)
        finally:
            cluster.close()
        (topic,) = answer.topics
        numbered = {p.partition_index: p for p in topic.partitions}
        return numbered[self.partition.partition]

    def leave_the_leader_alone(self) -> tuple[Broker, Broker]:
        """The follower, which is dead by then, and the leader."""
        numbered = {broker.number: broker for broker in self.sandbox.brokers}
        leader = self.described().leader_id
        (follower,) = set(self.replicas) - {leader}
        numbered[follower].kill()
        wait_until(lambda: self.described().isr_nodes == [leader], 60, "the follower to drop out")
        return numbered[follower], numbered[leader]

    def exchange(self, follower: Broker, leader: Broker) -> None:
        leader.kill()
        follower.start()
        wait_until(lambda: self.described().leader_id == follower.number, 90, "an unclean election")


@pytest.fixture
def scene(request: pytest.FixtureRequest, new_sandbox: Callable[..., Sandbox]) -> Iterator[Scene]:
    sandbox = new_sandbox(kafka=getattr(request, "param", "4.1"), brokers=3)
    with group_of(sandbox) as group:
        topic = f"{group.name}-cut"
        config = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
        sandbox.create_topic(topic, 3, config, replication=2)
        for number in range(3):
            made = Scene(group, sandbox, TopicPartition(topic, number), [])
            made.replicas = sorted(made.described().replica_nodes)
            # In KRaft mode the first broker is the only controller.
            if CONTROLLER not in made.replicas:
                yield made
                return
    raise AssertionError("no partition is kept by brokers 2 and 3")


def failure(query: Valued, at: Callable[[str], None] = lambda _step: None) -> ZkgroupError:
    def failed() -> ZkgroupError | None:
        try:
            query.trigger(at)
        except (DataLossError, FetchError) as error:
            return error
        return None

    error = wait_until(failed, 120, "the query to fail", interval_s=0.0)
    assert error is not None
    return error


def losses(query: Valued) -> tuple[int, int]:
    found = known(query)["dataLoss"]
    return found["events"], found["records"]


ALL, SOME, NOTHING = KEPT + CUT, KEPT + CUT - 20, KEPT - 20


@pytest.mark.parametrize(
    ("scene", "fail", "read"),
    [
        ("4.1", "true", SOME),
        ("4.1", "false", ALL),
        ("4.1", "false", SOME),
        ("4.1", "false", NOTHING),
        ("3.9", "true", ALL),
        ("3.9", "false", SOME),
    ],
    indirect=["scene"],
)
def test_a_log_that_was_cut_and_has_grown_again(
    scene: Scene, caplog: pytest.LogCaptureFixture, fail: str, read: int
) -> None:
    """`read`: all of what is cut later, some of it, or nothing; 20 records at a time."""
    caplog.set_level(logging.WARNING)
    kept = scene.produce("kept", KEPT)
    query = scene.query(failOnDataLoss=fail, maxOffsets="20")

    follower, leader = scene.leave_the_leader_alone()
    scene.produce("cut", CUT)
    query.until(read)
    # It has seen the whole log, as it was.
    assert query.planner.next_plan.ends.latest[scene.partition] == KEPT + CUT
    scene.exchange(follower, leader)
    new = scene.produce("new", NEW)
    unread = KEPT + CUT - max(read, KEPT)
    what = (
        f"The log of {scene.partition} was truncated (unclean leader election): offsets {KEPT} to "
        f"{KEPT + CUT - 1} were lost. The group's offset is {read}, so {unread} of them were not "
        f"read. With what was written since, the log ends at {KEPT + NEW}"
    )
    before = list(query.values)
    assert len(before) == read
    if fail == "true":
        error = failure(query)
        assert isinstance(error, DataLossError)
        assert error.what == what
        return
    start = min(read, KEPT)
    wait_until(
        lambda: query.trigger() or len(query.values) >= read + KEPT + NEW - start,
        90,
        "what is there to be read",
        interval_s=0.0,
    )
    query.until(read + KEPT + NEW - start)
    expected = list(enumerate(kept + new))[start:]
    assert query.values[read:] == expected
    assert losses(query) == (1, unread)
    (line,) = [m for m in caplog.messages if "[ZKG-101]" in m]
    assert what in line
    assert line.endswith(f" {start}")
    query.trigger()
    offset = scene.group.offsets(scene.partition.topic)[scene.partition.partition]
    assert offset == b"%d" % (KEPT + NEW)


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_log_that_is_cut_between_the_plan_and_its_tasks(scene: Scene, fail: str) -> None:
    """The plan is logged, and what it is to read is cut and replaced before the tasks begin."""
    kept = scene.produce("kept", KEPT)
    query = scene.query(failOnDataLoss=fail)
    query.until(KEPT)
    new: list[bytes] = []
    follower, leader = scene.leave_the_leader_alone()
    scene.produce("cut", CUT)

    def cut(step: str) -> None:
        if step == "partitions" and not new:
            assert query.planner.boundary.batch.ranges[scene.partition].until == KEPT + CUT
            scene.exchange(follower, leader)
            new.extend(scene.produce("new", NEW))

    if fail == "true":
        error = failure(query, cut)
        assert isinstance(error, FetchError)
        lost = f"Offsets {KEPT} to {KEPT + CUT - 1} of {scene.partition} are lost"
        assert lost in str(error)
        return
    wait_until(lambda: query.trigger(cut) or new, 60, "a batch", interval_s=0.0)
    assert len(query.values) == KEPT
    query.until(KEPT + NEW, deadline_s=60)
    assert query.values == list(enumerate(kept + new))
