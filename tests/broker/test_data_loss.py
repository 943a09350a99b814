"""Records that are gone before they were read, on real servers: `failOnDataLoss`."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from pyspark_zkgroup.errors import DataLossError, OffsetBeyondEndError, ZkgroupError
from tests.harness.group import Group, group_of, known, missing, settle, twice
from tests.harness.retention import delete_records
from tests.harness.spark_order import Checkpoint, CrashError, Query
from tests.harness.waiting import wait_until
from zkgroup_sandbox import Sandbox

FALSE = "false"


@pytest.fixture(autouse=True)
def without_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts are asked for at every boundary, and an end that is too low is soon believed."""
    monkeypatch.setattr("pyspark_zkgroup.planning.log_watch._STARTS_EVERY_S", 0.0)
    monkeypatch.setattr("pyspark_zkgroup.planning.short_logs._BEYOND_S", 0.3)


def losses(query: Query) -> tuple[int, int]:
    found = known(query)["dataLoss"]
    return found["events"], found["records"]


def failure(query: Query) -> ZkgroupError:
    """What ends the query."""

    def failed() -> ZkgroupError | None:
        try:
            query.trigger()
        except ZkgroupError as error:
            return error
        return None

    error = wait_until(failed, 20, "the query to fail", interval_s=0.0)
    assert error is not None
    return error


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [m for m in caplog.messages if "[ZKG-101]" in m]


def passed_while_stopped(group: Group) -> tuple[str, Checkpoint]:
    """Read up to 10 in both partitions, then stopped; partition 0 now starts at 15 of 20."""
    topic = group.topic(2)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint)
    settle(a)
    a.stop()
    group.produce(topic, 10)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 15})
    return topic, checkpoint


@pytest.mark.parametrize("restart", ["with its checkpoint", "another query"])
def test_retention_has_passed_the_committed_offset(group: Group, restart: str) -> None:
    topic, checkpoint = passed_while_stopped(group)
    b = group.query(topic, checkpoint if restart == "with its checkpoint" else None)
    error = failure(b)
    assert isinstance(error, DataLossError)
    assert error.what == (
        f"5 records of {topic}-0 were deleted before they were read: the group's offset is 10, but "
        f"the log now starts at 15 (and ends at 20)"
    )
    assert group.offset_path(topic, 0) in error.remedy
    b.stop()
    # Nothing was skipped: an operator who corrects it finds it unchanged.
    assert group.offsets(topic) == dict.fromkeys(range(2), b"10")
    assert group.owners(topic) == {}


@pytest.mark.parametrize("available_now", [False, True])
def test_with_losses_allowed_it_continues_from_the_logs_start(
    group: Group, caplog: pytest.LogCaptureFixture, available_now: bool
) -> None:
    topic, checkpoint = passed_while_stopped(group)
    b = group.query(topic, checkpoint, available_now=available_now, failOnDataLoss=FALSE)
    settle(b)
    assert sorted(o for _, p, o in b.rows if p == 0) == list(range(15, 20))
    assert sorted(o for _, p, o in b.rows if p == 1) == list(range(10, 20))
    assert losses(b) == (1, 5)
    (line,) = said(caplog)
    assert line.endswith(" 15")
    assert group.offsets(topic) == dict.fromkeys(range(2), b"20")


def test_what_is_skipped_is_committed_at_once(group: Group) -> None:
    """A crash right behind it must not lose count, nor come back to it."""
    topic, checkpoint = passed_while_stopped(group)
    b = group.query(topic, checkpoint, failOnDataLoss=FALSE, session="1000")

    def crash(step: str) -> None:
        if step == "planned":
            assert group.offsets(topic)[0] == b"15"
            b.crash()
            raise CrashError

    with pytest.raises(CrashError):
        b.until(15, at=crash)
    c = group.query(topic, checkpoint, failOnDataLoss=FALSE, session="1000")
    c.until(15)
    assert sorted(o for _, p, o in c.rows if p == 0) == list(range(15, 20))
    assert losses(c) == (0, 0)


def test_retention_passes_a_member_that_lags(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    a = group.query(topic, maxOffsets="2", failOnDataLoss=FALSE)
    a.until(4)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 7})
    settle(a)
    assert [o for _, _, o in a.rows] == [0, 1, 2, 3, 7, 8, 9]
    assert losses(a) == (1, 3)


def test_retention_passes_a_member_that_lags_and_must_not_lose(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    a = group.query(topic, maxOffsets="2")
    a.until(4)
    delete_records(group.sandbox.bootstrap_servers, topic, {0: 7})
    error = failure(a)
    assert isinstance(error, DataLossError)
    assert f"3 records of {topic}-0" in error.what
    a.stop()
    assert group.offsets(topic) == {0: b"4"}


def made_anew(group: Group, topic: str, query: Query, each: int) -> None:
    """Deleted, seen to be gone, and made again with other records."""
    group.sandbox.delete_topic(topic)

    def released() -> bool:
        query.trigger()
        return not query.held

    wait_until(released, 20, "the deleted topic to be released", interval_s=0.0)
    group.sandbox.create_topic(topic, 1)
    group.produced[topic].ranges.clear()
    group.produce(topic, each)


@pytest.mark.parametrize("records", [3, 20])
def test_a_recreated_topic_is_read_from_its_start(
    group: Group, caplog: pytest.LogCaptureFixture, records: int
) -> None:
    """Also where its log has grown beyond the old offset: ZooKeeper knows which is older."""
    topic = group.topic(1)
    group.produce(topic, 10)
    a = group.query(topic, failOnDataLoss=FALSE)
    settle(a)
    before = len(a.rows)
    made_anew(group, topic, a, records)
    a.until(before + records)
    b = group.query(topic, failOnDataLoss=FALSE)
    settle(a, b)
    assert sorted(o for _, _, o in [*a.rows[before:], *b.rows]) == list(range(records))
    assert losses(a) == (1, 0)
    assert losses(b) == (0, 0)
    assert f"{topic}-0 was recreated after the group's offset 10 was committed" in said(caplog)[0]
    assert group.offsets(topic) == {0: b"%d" % records}


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_topic_recreated_between_two_boundaries_while_it_is_held(
    group: Group, caplog: pytest.LogCaptureFixture, fail: str
) -> None:
    """Both within one long batch, and the new log has grown beyond the old position since."""
    topic = group.topic(1)
    group.produce(topic, 10)
    a = group.query(topic, failOnDataLoss=fail)

    def exchange(step: str) -> None:
        if step == "sunk":
            group.sandbox.delete_topic(topic)
            group.sandbox.create_topic(topic, 1)
            group.produced[topic].ranges.clear()
            group.produce(topic, 25)

    assert a.trigger(exchange) == 10
    if fail == "true":
        error = failure(a)
        assert isinstance(error, DataLossError)
        assert f"{topic}-0 was recreated after the group's offset 10 was committed" in error.what
        return
    a.until(10 + 25)
    assert [o for _, _, o in a.rows[10:]] == list(range(25))
    assert losses(a) == (1, 0)
    assert len(said(caplog)) == 1
    a.trigger()
    assert group.offsets(topic) == {0: b"25"}


@pytest.mark.parametrize("restart", ["with its checkpoint", "another query"])
def test_a_topic_recreated_while_no_member_ran(group: Group, restart: str) -> None:
    topic = group.topic(1)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint)
    settle(a)
    a.stop()
    group.sandbox.delete_topic(topic)
    group.sandbox.create_topic(topic, 1)
    group.produced[topic].ranges.clear()
    group.produce(topic, 20)
    old = checkpoint if restart == "with its checkpoint" else None
    strict = group.query(topic, old)
    error = failure(strict)
    assert isinstance(error, DataLossError)
    assert error.what == (
        f"The topic of {topic}-0 was recreated after the group's offset 10 was committed: its "
        f"log starts at 0 and ends at 20"
    )
    strict.stop()
    assert group.offsets(topic) == {0: b"10"}
    b = group.query(topic, old, failOnDataLoss=FALSE)
    settle(b)
    assert missing(group, b.rows) == [] == twice(b.rows)


def test_an_offset_that_was_set_before_the_topic_was_made_and_loses_nothing(group: Group) -> None:
    topic = f"{group.name}-later"
    group.client.create(group.offset_path(topic, 0), b"0", makepath=True)
    group.topic(1, topic)
    group.produce(topic, 3)
    a = group.query(topic)
    settle(a)
    assert missing(group, a.rows) == [] == twice(a.rows)


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_recreated_topic_is_recognised_by_its_id_however_long_its_log_is(
    kraft: Group, fail: str
) -> None:
    """Between two boundaries, and while no member runs: no ZooKeeper knows which is older."""
    group = kraft
    topic = group.topic(1)
    group.produce(topic, 10)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, failOnDataLoss=fail)
    settle(a)
    if fail == "true":
        a.stop()
    group.sandbox.delete_topic(topic)
    group.sandbox.create_topic(topic, 1)
    group.produced[topic].ranges.clear()
    group.produce(topic, 25)
    if fail == "false":
        # What was read before its id was looked at again comes twice; nothing is skipped.
        wait_until(lambda: (a.trigger(), losses(a)[0])[1], 30, "the loss", interval_s=0.0)
        settle(a)
        assert [o for _, _, o in a.rows[-25:]] == list(range(25))
        assert losses(a)[0] == 1
        return
    b = group.query(topic, checkpoint, failOnDataLoss=fail)
    error = failure(b)
    assert isinstance(error, DataLossError)
    assert f"{topic}-0 was recreated after the group's offset 10 was committed" in error.what


@pytest.fixture
def kraft(sandbox_41: Sandbox) -> Iterator[Group]:
    with group_of(sandbox_41) as made:
        yield made


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_recreated_topic_that_zookeeper_does_not_know(kraft: Group, fail: str) -> None:
    group = kraft
    topic = group.topic(1)
    group.produce(topic, 10)
    a = group.query(topic, failOnDataLoss=fail, refresh="1000")
    settle(a)
    before = len(a.rows)
    made_anew(group, topic, a, 3)
    if fail == "false":
        a.until(before + 3)
        assert [o for _, _, o in a.rows[before:]] == [0, 1, 2]
        assert losses(a) == (1, 0)
        return
    error = failure(a)
    assert isinstance(error, DataLossError)
    assert error.what == (
        f"The topic of {topic}-0 was recreated after the group's offset 10 was committed: its "
        f"log starts at 0 and ends at 3"
    )
    a.stop()
    # A restart is refused before it writes anything, until an operator sets the offset.
    with pytest.raises(OffsetBeyondEndError, match="failOnDataLoss"):
        group.query(topic).trigger()
    group.client.set(group.offset_path(topic, 0), b"0")
    b = group.query(topic)
    b.until(3)
    assert missing(group, b.rows) == [] == twice(b.rows)


@pytest.mark.parametrize("available_now", [False, True])
def test_an_offset_beyond_the_end_at_the_start_of_a_query(
    group: Group, available_now: bool
) -> None:
    topic = group.topic(2)
    group.produce(topic, 3)
    group.client.create(group.offset_path(topic, 1), b"9", makepath=True)
    a = group.query(topic, failOnDataLoss=FALSE, available_now=available_now)
    if available_now:
        a.drain()
    else:
        a.until(6)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert losses(a) == (1, 0)


def test_a_topic_is_deleted_with_unread_records(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    stays, goes = group.topic(1), group.topic(1)
    group.produce(stays, 4)
    group.produce(goes, 10)
    strict = group.query(goes, group_id=f"{group.name}-strict", maxOffsets="2")
    a = group.query(f"{stays},{goes}", maxOffsets="4", failOnDataLoss=FALSE)
    for query in (strict, a):
        query.trigger()
    group.sandbox.delete_topic(goes)

    def released() -> bool:
        a.trigger()
        return {p.topic for p in a.held} == {stays}

    wait_until(released, 20, "the deleted topic to be released", interval_s=0.0)
    # Whether it is deleted, the brokers are asked for some seconds.
    wait_until(lambda: a.trigger() or said(caplog), 20, "the loss to be logged", interval_s=0.0)
    (line,) = said(caplog)
    read = sum(row[0] == goes for row in a.rows)
    assert f"{goes}-0 " in line
    assert f"{10 - read} " in line
    assert losses(a) == (1, 10 - read)
    settle(a)
    assert sum(row[0] == stays for row in a.rows) == 4
    error = failure(strict)
    assert isinstance(error, DataLossError)
    assert f"{goes}-0 was deleted with 8 unread records" in error.what


def test_a_topic_that_was_read_whole_may_be_deleted(group: Group) -> None:
    topic = group.topic(1)
    group.produce(topic, 3)
    a = group.query(topic)
    settle(a)
    group.sandbox.delete_topic(topic)

    def released() -> bool:
        a.trigger()
        return not a.held

    wait_until(released, 20, "the deleted topic to be released", interval_s=0.0)
    assert losses(a) == (0, 0)
