"""Jobs that end by themselves, over logs that lose what was there when they began."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from pyspark_zkgroup.errors import (
    DataLossError,
    OffsetOutOfRangeError,
    SubscriptionError,
    ZkgroupError,
)
from tests.harness.group import Group, group_of, known, missing, twice
from tests.harness.retention import delete_records
from tests.harness.spark_order import Checkpoint, CrashError, Query
from zkgroup_sandbox import Sandbox

BOTH = pytest.mark.parametrize("fail", ["true", "false"])


@pytest.fixture(autouse=True)
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """An end that is too low is soon believed. A topic's id is asked for each time: otherwise it
    would depend on one second which of two losses is reported.
    """
    monkeypatch.setattr("pyspark_zkgroup.planning.short_logs._BEYOND_S", 0.3)
    monkeypatch.setattr("pyspark_zkgroup.planning.fixed_ends._DOUBTED_S", 0.3)
    monkeypatch.setattr("pyspark_zkgroup.planning.absent_topics._DOUBTED_S", 0.3)
    monkeypatch.setattr("pyspark_zkgroup.planning.cluster_view._IDS_AGE_MAX_S", 0.0)


@pytest.fixture
def kraft(sandbox_41: Sandbox) -> Iterator[Group]:
    """ZooKeeper does not know topics here: a recreated topic shows by its id."""
    with group_of(sandbox_41) as made:
        yield made


def losses(query: Query) -> tuple[int, int]:
    found = known(query)["dataLoss"]
    return found["events"], found["records"]


def once_at(step: str, act: Callable[[], None]) -> Callable[[str], None]:
    done: list[str] = []

    def at(reached: str) -> None:
        if reached == step and not done:
            done.append(step)
            act()

    return at


def failure(query: Query) -> ZkgroupError:
    with pytest.raises(ZkgroupError) as caught:
        query.drain()
    return caught.value


def made_anew(group: Group, topic: str, partitions: int, each: int) -> None:
    group.sandbox.delete_topic(topic)
    group.sandbox.create_topic(topic, partitions)
    group.produced[topic].ranges.clear()
    group.produce(topic, each)


@BOTH
def test_a_log_that_ends_before_the_end_it_was_to_be_read_to(
    kraft: Group, caplog: pytest.LogCaptureFixture, fail: str
) -> None:
    """Of the new topic nothing is skipped, and nothing read before it is known to be another."""
    group = kraft
    topic = group.topic(1)
    group.produce(topic, 10)
    job = group.query(topic, available_now=True, maxOffsets="4", failOnDataLoss=fail)
    assert job.trigger(once_at("sunk", lambda: made_anew(group, topic, 1, 7))) == 4
    if fail == "true":
        error = failure(job)
        assert isinstance(error, DataLossError)
        assert error.what == (
            f"The topic of {topic}-0 was recreated after the group's offset 4 was committed: its "
            f"log starts at 0 and ends at 7; 6 records of the old topic were not read"
        )
        assert len(job.rows) == 4, "no record of another topic was taken for one of this"
        # What is there may be read by starting it again.
        job.stop()
        again = group.query(topic, available_now=True)
        again.drain()
        assert [o for _, _, o in again.rows] == [4, 5, 6]
        return
    job.drain()
    assert [o for _, _, o in job.rows] == [*range(4), *range(7)]
    assert losses(job) == (1, 6)
    (line,) = [m for m in caplog.messages if "[ZKG-101]" in m]
    assert f"The topic of {topic}-0 was recreated" in line
    assert line.endswith(" 0")
    assert group.offsets(topic) == {0: b"7"}


@BOTH
def test_a_topic_recreated_with_fewer_partitions(
    kraft: Group, caplog: pytest.LogCaptureFixture, fail: str
) -> None:
    """The group learns of it at its next look at the topics, which is far off."""
    group = kraft
    topic = group.topic(2)
    group.produce(topic, 10)
    job = group.query(topic, available_now=True, maxOffsets="8", failOnDataLoss=fail)
    assert job.trigger(once_at("sunk", lambda: made_anew(group, topic, 1, 10))) == 8
    if fail == "true":
        error = failure(job)
        assert isinstance(error, DataLossError)
        assert f"{topic}-1 was deleted with 6 unread records" in error.what
        return
    job.drain()
    # Of the new topic nothing is skipped. What was read before its id was looked at comes twice.
    read = {(p, o) for _, p, o in job.rows}
    assert read == {*((0, n) for n in range(10)), *((1, n) for n in range(4))}
    assert losses(job)[0] == 2


@BOTH
@pytest.mark.parametrize("start", [7, 10], ids=["some", "all of the rest"])
def test_records_are_deleted_between_the_plan_and_its_tasks(
    group: Group, caplog: pytest.LogCaptureFixture, fail: str, start: int
) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    job = group.query(topic, available_now=True, maxOffsets="4", failOnDataLoss=fail)
    assert job.trigger() == 4

    def delete() -> None:
        delete_records(group.sandbox.bootstrap_servers, topic, {0: start})

    at = once_at("logged", delete)
    if fail == "true":
        with pytest.raises(OffsetOutOfRangeError, match=f"{topic}-0") as caught:
            job.trigger(at)
        assert (caught.value.partition, caught.value.offset) == (0, 4)
        return
    job.trigger(at)
    job.drain()
    assert [o for _, _, o in job.rows] == [*range(4), *range(start, 10)]
    lost = f"{topic}-0: offsets [4, {min(start, 8)}) are lost: its log begins at {start}"
    assert any(lost in message for message in caplog.messages)
    assert group.offsets(topic) == {0: b"10"}


def test_a_replay_while_the_topic_gains_partitions(group: Group) -> None:
    """The batch that was not finished is that of its plan; then all there is by now is read."""
    topic = group.topic(2)
    group.produce(topic, 6)
    checkpoint = Checkpoint()
    options = {"available_now": True, "maxOffsets": "8", "session": "2000"}
    first = group.query(topic, checkpoint, **options)  # type: ignore[arg-type]

    def die() -> None:
        raise CrashError

    with pytest.raises(CrashError):
        first.trigger(once_at("read", die))
    first.crash()
    group.sandbox.add_partitions(topic, 4)
    group.produce(topic, 3)
    for step in ("sunk", ""):
        again = group.query(topic, checkpoint, **options)  # type: ignore[arg-type]
        if step:
            with pytest.raises(CrashError):
                again.trigger(once_at(step, die))
            again.crash()
    assert again.trigger() == 8
    assert {p for _, p, _ in again.rows} == {0, 1}
    again.drain()
    assert missing(group, again.rows) == [] == twice(again.rows)
    assert group.offsets(topic) == {0: b"9", 1: b"9", 2: b"3", 3: b"3"}


def test_logs_that_lag_behind_what_the_sink_has_taken(group: Group) -> None:
    """As Spark's asynchronous progress tracking leaves them: the newest batches were never logged,
    or not as finished. The group's offsets know better.
    """
    topic = group.topic(2)
    group.produce(topic, 12)
    checkpoint = Checkpoint()
    first = group.query(topic, checkpoint, maxOffsets="4", session="2000")
    first.until(20)
    first.crash()
    del checkpoint.offsets[3:]
    checkpoint.commits = {0, 1}
    again = group.query(topic, checkpoint, available_now=True, session="2000")
    again.drain()
    rows = first.rows + again.rows
    assert missing(group, rows) == []
    # What the sink had when the driver died, and no boundary had committed yet, comes again.
    assert sorted(twice(rows)) == sorted(first.batches[-1][1])


def test_nothing_is_logged_if_all_goes_well(group: Group, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "pyspark_zkgroup")
    topic = group.topic(2)
    group.produce(topic, 6)
    job = group.query(topic, available_now=True, maxOffsets="4")
    job.trigger()
    group.produce(topic, 3)
    job.drain()
    assert len(job.rows) == 12
    assert [r.message for r in caplog.records if r.name.startswith("pyspark_zkgroup")] == []


@pytest.mark.parametrize("protocol", ["zookeeper", "kafka"])
def test_a_job_whose_topic_does_not_exist_fails_and_names_similar_ones(
    kraft: Group, protocol: str
) -> None:
    topic = kraft.topic(1)
    options = kraft.options(f"{topic}s")
    if protocol == "kafka":
        options = {name: value for name, value in options.items() if "zookeeper" not in name}
        del options["threads"]
    job = kraft.query_of(options, available_now=True)
    error = failure(job)
    assert isinstance(error, SubscriptionError)
    assert topic in error.what
    assert job.rows == []
