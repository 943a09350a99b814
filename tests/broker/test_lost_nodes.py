"""The group's nodes in ZooKeeper are gone, all of them or some: offsets are made again from what
the members know, loudly; nothing is lost, and nothing is read from its beginning again.
"""

from __future__ import annotations

import pytest

from tests.harness.group import Group, all_rows, missing, settle, twice, waits_for
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.waiting import wait_until


def lose_everything(group: Group) -> None:
    """As `deleteall` does it: members may write again while it is under way."""

    def gone() -> bool:
        group.client.delete(f"/consumers/{group.name}", recursive=True)
        return True

    wait_until(gone, 10, "the group's nodes to be deleted")


def rebuilt(caplog: pytest.LogCaptureFixture) -> list[str]:
    return sorted(m.partition("] ")[2] for m in caplog.messages if "[ZKG-102]" in m)


@pytest.mark.parametrize("starting", ["earliest", "latest"])
@pytest.mark.parametrize("when", ["idle", "in mid-batch", "between plan and log"])
def test_under_a_running_query(
    group: Group, caplog: pytest.LogCaptureFixture, starting: str, when: str
) -> None:
    topic = group.topic(3)
    a = group.query(topic, starting=starting)
    settle(a)
    group.produce(topic, 5)
    settle(a)
    done = 5
    if when == "idle":
        lose_everything(group)
    else:
        group.produce(topic, 5)
        step = {"in mid-batch": "read", "between plan and log": "planned"}[when]
        a.trigger(lambda at: lose_everything(group) if at == step else None)
        done = 10
    group.produce(topic, 5)
    settle(a)
    assert missing(group, a.rows) == [] == twice(a.rows)
    assert rebuilt(caplog) == [
        f"Restored the group's offset of {topic}-{p} from this query's progress: {done}"
        for p in range(3)
    ]
    assert group.offsets(topic) == dict.fromkeys(range(3), b"%d" % (done + 5))
    assert len(group.owners(topic)) == 3
    assert group.client.get_children(f"/consumers/{group.name}/ids") == [a.membership.member]


@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_under_two_running_queries_and_one_that_has_nothing_to_read(
    group: Group, starting: str
) -> None:
    """The spare one, which knows no offset at all, comes first. It must not choose where the others
    continue.
    """
    topic = group.topic(2)
    members = [group.query(topic, starting=starting, threads="1") for _ in range(3)]
    settle(*members)
    group.produce(topic, 5)
    settle(*members)
    (spare,) = [m for m in members if not m.held]
    busy = [m for m in members if m is not spare]
    group.produce(topic, 5)

    def lose(step: str) -> None:
        if step == "read":
            lose_everything(group)
            spare.trigger()
            spare.trigger()

    busy[0].trigger(lose)
    group.produce(topic, 5)
    settle(spare, *busy, deadline_s=30)
    rows = all_rows(*members)
    assert missing(group, rows) == [] == twice(rows)
    assert group.offsets(topic) == dict.fromkeys(range(2), b"15")


def test_a_commit_of_before_the_loss_does_not_fit_what_another_has_rebuilt(group: Group) -> None:
    """A's batch outlasts the loss, and B's new nodes have the very versions that A's had."""
    topic = group.topic(1)
    a = group.query(topic)
    settle(a)
    group.produce(topic, 5)
    settle(a)
    group.produce(topic, 5)
    b = group.query(topic)

    def rebuild(step: str) -> None:
        if step == "read":
            before = group.client.get(group.offset_path(topic, 0))[1].version
            lose_everything(group)
            group.produce(topic, 5)
            settle(b)
            assert group.client.get(group.offset_path(topic, 0))[1].version == before
            assert group.offsets(topic) == {0: b"15"}

    a.trigger(rebuild)
    a.trigger()
    assert group.offsets(topic) == {0: b"15"}
    settle(a, b)
    assert missing(group, all_rows(a, b)) == []


def test_what_no_member_restores_starts_at_its_beginning_after_a_while(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    topic = group.topic(2)
    group.produce(topic, 2)
    members = [group.query(topic, starting="latest", threads="1", session="1000") for _ in range(3)]
    settle(*members)
    group.produce(topic, 3)
    settle(*members)
    (spare,) = [m for m in members if not m.held]
    for member in members:
        if member is not spare:
            member.crash()
    lose_everything(group)
    spare.trigger()
    spare.trigger()
    assert waits_for(spare, 0).startswith(
        f"{group.offset_path(topic, 0)} was lost, and this query does not know it: the member "
        f"that read the partition last may restore it within "
    )
    assert group.offsets(topic) == {}
    monkeypatch.setattr("pyspark_zkgroup.protocols.owned.lost_offsets._RESTORE_S", 0.0)
    spare.until(10)
    assert rebuilt(caplog) == [
        f"Restored the group's offset of {topic}-{p} from the log start, as no other source is "
        "known: 0"
        for p in range(2)
    ]


def stopped_after(group: Group, topic: str, *queries: Query) -> None:
    group.produce(topic, 5)
    settle(*queries)
    for query in queries:
        query.stop()
    group.produce(topic, 5)
    lose_everything(group)


@pytest.mark.parametrize("starting", ["earliest", "latest"])
def test_before_a_restart_of_one(group: Group, starting: str) -> None:
    topic = group.topic(2)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, starting=starting)
    settle(a)
    stopped_after(group, topic, a)
    b = group.query(topic, checkpoint, starting=starting)
    settle(b)
    rows = all_rows(a, b)
    assert missing(group, rows) == [] == twice(rows)


@pytest.mark.parametrize("finished", [True, False])
def test_before_a_restart_of_two_one_after_the_other(group: Group, finished: bool) -> None:
    topic = group.topic(4)
    checkpoints = [Checkpoint(), Checkpoint()]
    before = [group.query(topic, c, threads="1") for c in checkpoints]
    settle(*before)
    stopped_after(group, topic, *before)
    if not finished:
        for checkpoint in checkpoints:
            checkpoint.commits.discard(len(checkpoint.offsets) - 1)
    first = group.query(topic, checkpoints[0], threads="1")
    wait_until(lambda: first.trigger() or first.held, 30, "the first one to hold something")
    first.trigger()
    # It continues with what it knows, and leaves the rest to the other one.
    assert len(first.held) == 2
    second = group.query(topic, checkpoints[1], threads="1")
    settle(first, second, deadline_s=30)
    rows = all_rows(*before, first, second)
    assert missing(group, rows) == []
    again = [row for member in before for row in member.batches[-1][1]]
    assert twice(rows) == ([] if finished else sorted(again))


def test_a_memory_that_another_member_has_outrun_is_the_last_resort(
    group: Group, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A read a partition once and gave it to B. It must not take B's progress back to that."""
    topic = group.topic(2)
    a = group.query(topic, threads="1")
    group.produce(topic, 5)
    settle(a)
    b = group.query(topic, threads="1")
    settle(a, b)
    given = next(p.partition for p in b.held)
    group.produce(topic, 5)
    settle(a, b)
    lose_everything(group)
    for _ in range(3):
        a.trigger()
    assert group.offsets(topic) == {1 - given: b"10"}
    settle(a, b, deadline_s=30)
    rows = all_rows(a, b)
    assert missing(group, rows) == [] == twice(rows)
    b.crash()
    lose_everything(group)
    monkeypatch.setattr("pyspark_zkgroup.protocols.owned.lost_offsets._RESTORE_S", 0.0)
    settle(a, deadline_s=30)
    # Better than the log's beginning.
    assert (
        f"Restored the group's offset of {topic}-{given} from an old progress of this query "
        "(other members read on since): 5"
    ) in rebuilt(caplog)
    assert twice(all_rows(a, b)) == [(topic, given, o) for o in range(5, 10)]


@pytest.mark.parametrize("running", [True, False])
def test_a_reset_at_the_same_time_is_followed(group: Group, running: bool) -> None:
    topic = group.topic(2)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint)
    group.produce(topic, 5)
    settle(a)
    if not running:
        a.stop()
    lose_everything(group)
    group.client.create(group.offset_path(topic, 0), b"3", makepath=True)
    b = a if running else group.query(topic, checkpoint)
    settle(b)
    assert twice(all_rows(*{a, b})) == [(topic, 0, 3), (topic, 0, 4)]
    assert group.offsets(topic) == dict.fromkeys(range(2), b"5")


@pytest.mark.parametrize("running", [True, False])
def test_delete_and_import_is_a_reset_not_a_loss(
    group: Group, caplog: pytest.LogCaptureFixture, running: bool
) -> None:
    """The versions of the nodes come back, their lives do not. In mid-batch, where the member has
    something to commit.
    """
    topic = group.topic(2)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, maxOffsets="4")
    group.produce(topic, 5)

    def import_offsets(step: str) -> None:
        if step == "read":
            version = group.client.get(group.offset_path(topic, 0))[1].version
            lose_everything(group)
            for p in range(2):
                group.client.create(group.offset_path(topic, p), b"1", makepath=True)
                for _ in range(version):
                    group.client.set(group.offset_path(topic, p), b"1")

    a.trigger(import_offsets)
    if not running:
        a.stop()
    b = a if running else group.query(topic, checkpoint, maxOffsets="4")
    settle(b)
    rows = all_rows(*{a, b})
    assert missing(group, rows) == []
    assert twice(rows) == [(topic, p, 1) for p in range(2)]
    assert rebuilt(caplog) == []


def test_one_offset_node_alone_is_made_again(
    group: Group, caplog: pytest.LogCaptureFixture
) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    a = group.query(topic, starting="latest")
    settle(a)
    group.produce(topic, 5)
    a.trigger(
        lambda step: group.client.delete(group.offset_path(topic, 1)) if step == "read" else None
    )
    settle(a)
    assert len(a.rows) == 10
    assert twice(a.rows) == []
    assert rebuilt(caplog) == [
        f"Restored the group's offset of {topic}-1 from this query's progress: 10"
    ]
