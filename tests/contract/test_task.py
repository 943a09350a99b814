"""A task returns the same rows whenever and wherever it runs."""

from __future__ import annotations

import pickle
import uuid

import pyarrow as pa
import pytest

from pyspark_zkgroup.errors import FetchError
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import OffsetRange, TopicPartition
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.schema import COLUMNS, arrow_schema
from pyspark_zkgroup.tasks import reading as task
from tests.harness.producing import produce
from zkgroup_sandbox import Sandbox

KEYS: list[bytes | None] = [b"", b"key", None]


def value(n: int) -> bytes | None:
    return None if n % 3 == 0 else b"%d" % n


@pytest.fixture
def given(sandbox: Sandbox) -> tuple[TaskInput, FetchSettings]:
    topic = f"task-{uuid.uuid4().hex[:8]}"
    sandbox.create_topic(topic, 2)
    ranges = []
    for partition in range(2):
        tp = TopicPartition(topic, partition)
        produce(
            sandbox.bootstrap_servers,
            tp,
            [value(n) for n in range(600)],
            keys=[KEYS[n % 3] for n in range(600)],
            batch_size=2000,
        )
        ranges.append(TaskRange(tp, OffsetRange(100 * partition, 600)))
    bootstrap = tuple(sandbox.bootstrap_servers.split(","))
    settings = FetchSettings(bootstrap, fetch_bytes_max=2500, batch_rows_max=100)
    return TaskInput("member-0", tuple(ranges)), settings


def run(given: tuple[TaskInput, FetchSettings]) -> pa.Table:
    table = pa.Table.from_batches(task.read(*given), arrow_schema(COLUMNS))
    return table.sort_by(
        [("topic", "ascending"), ("partition", "ascending"), ("offset", "ascending")]
    )


def test_rows_are_those_that_were_produced(given: tuple[TaskInput, FetchSettings]) -> None:
    table = run(given)
    assert table["partition"].to_pylist() == [0] * 600 + [1] * 500
    offsets = [*range(600), *range(100, 600)]
    assert table["offset"].to_pylist() == offsets
    assert table["key"].to_pylist() == [KEYS[n % 3] for n in offsets]
    assert table["value"].to_pylist() == [value(n) for n in offsets]


def test_batches_are_what_spark_takes(given: tuple[TaskInput, FetchSettings]) -> None:
    batches = list(task.read(*given))
    assert all(b.schema == arrow_schema(COLUMNS) for b in batches)
    assert all(b.num_rows <= 100 for b in batches)


def test_a_task_that_is_tried_again_returns_the_same(
    given: tuple[TaskInput, FetchSettings],
) -> None:
    assert run(given) == run(given) == run(pickle.loads(pickle.dumps(given)))


def test_a_task_that_was_killed_half_way_returns_the_same(
    given: tuple[TaskInput, FetchSettings],
) -> None:
    whole = run(given)
    killed = task.read(*given)
    next(killed)
    del killed
    assert run(given) == whole


def test_tasks_that_run_at_the_same_time_return_the_same(
    given: tuple[TaskInput, FetchSettings],
) -> None:
    both = list(zip(task.read(*given), task.read(*given), strict=True))
    assert all(one == other for one, other in both)


def test_connections_are_warm_in_the_next_task(given: tuple[TaskInput, FetchSettings]) -> None:
    task.POOL.close()
    run(given)
    with task.POOL.lease(given[1]) as cluster:
        asked = cluster.requests
        assert cluster.leaders
    run(given)
    with task.POOL.lease(given[1]) as again:
        assert again is cluster
        # No metadata, no new connection: only fetches.
        assert again.requests - asked < asked


def test_nothing_to_read_sends_no_request() -> None:
    unreachable = FetchSettings(("127.0.0.1:1",))
    empty = TaskRange(TopicPartition("t", 0), OffsetRange(5, 5))
    assert list(task.read(TaskInput("member-0", (empty,)), unreachable)) == []
    assert list(task.read(TaskInput("member-0", ()), unreachable)) == []


def test_a_partition_named_twice_is_refused(given: tuple[TaskInput, FetchSettings]) -> None:
    one = given[0].ranges[0]
    with pytest.raises(ValueError, match="twice"):
        list(task.read(TaskInput("member-0", (one, one)), given[1]))


def test_errors_reach_the_driver_whole(given: tuple[TaskInput, FetchSettings]) -> None:
    tp = given[0].ranges[0].partition
    settings = FetchSettings(given[1].bootstrap, deadline_s=0.2, fetch_wait_max_ms=50)
    beyond = TaskInput("member-0", (TaskRange(tp, OffsetRange(600, 700)),))
    with pytest.raises(FetchError, match="its log ends at 600") as caught:
        list(task.read(beyond, settings))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
