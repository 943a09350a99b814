"""A query dies in mid-batch and comes back, with the checkpoint that Spark has by then."""

from __future__ import annotations

import pytest

from tests.harness.group import Group, all_rows, missing, settle, twice
from tests.harness.spark_order import Checkpoint, CrashError, Query


def crash_at(query: Query, step: str) -> None:
    def die(reached: str) -> None:
        if reached == step:
            raise CrashError(step)

    with pytest.raises(CrashError):
        query.until(1, at=die)
    query.crash()


@pytest.mark.parametrize("step", ["logged", "read", "sunk"])
def test_an_unfinished_batch_is_read_again_exactly_also_after_a_second_crash(
    group: Group, step: str
) -> None:
    topic = group.topic(3)
    group.produce(topic, 8)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="2000")
    crash_at(a, step)
    group.produce(topic, 8)  # must not slip into the replayed batch
    b = group.query(topic, checkpoint, session="2000")
    crash_at(b, "read")
    c = group.query(topic, checkpoint, session="2000")
    c.trigger()
    assert c.batches[0][0] == 0
    assert len(c.batches[0][1]) == 24
    if step == "sunk":
        assert sorted(a.batches[0][1]) == sorted(c.batches[0][1])
    settle(c)
    assert missing(group, c.rows) == [] == twice(c.rows)
    assert group.offsets(topic) == dict.fromkeys(range(3), b"16")


def test_a_plan_that_was_never_logged_was_never_made(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 5)
    checkpoint = Checkpoint()
    crash_at(group.query(topic, checkpoint, session="2000"), "planned")
    b = group.query(topic, checkpoint, session="2000")
    b.until(10)
    assert missing(group, b.rows) == [] == twice(b.rows)


def test_what_another_member_took_is_left_out(group: Group) -> None:
    topic = group.topic(4)
    group.produce(topic, 6)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="2000")
    crash_at(a, "logged")
    other = group.query(topic, session="2000")
    settle(other, deadline_s=30)
    assert missing(group, other.rows) == []
    back = group.query(topic, checkpoint, session="2000")
    registered = group.client.get_children(f"/consumers/{group.name}/ids")
    back.trigger()
    assert back.batches == [(0, [])]
    # Otherwise the other one would release what is not read before this batch is over.
    assert group.client.get_children(f"/consumers/{group.name}/ids") == registered
    group.produce(topic, 6)
    settle(back, other)
    assert len(back.held) == 2
    rows = all_rows(back, other)
    assert missing(group, rows) == [] == twice(rows)


def test_a_finished_batch_that_was_never_committed_is_settled_before_anything_else(
    group: Group,
) -> None:
    topic = group.topic(2)
    group.produce(topic, 6)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, session="2000")
    crash_at(a, "finished")
    assert group.offsets(topic) == dict.fromkeys(range(2), b"0")
    other = group.query(topic, session="2000")
    back = group.query(topic, checkpoint, session="2000")
    back.trigger()
    assert group.offsets(topic) == dict.fromkeys(range(2), b"6")
    settle(back, other)
    rows = [*a.rows, *back.rows, *other.rows]
    assert missing(group, rows) == [] == twice(rows)


def test_a_restart_within_the_session_waits_for_its_predecessor(group: Group) -> None:
    topic = group.topic(2)
    group.produce(topic, 4)
    checkpoint = Checkpoint()
    crash_at(group.query(topic, checkpoint, session="2000"), "logged")
    b = group.query(topic, checkpoint, session="2000")
    assert b.trigger() == 8  # the owner nodes were still there when it began


def test_the_same_member_id_takes_over_at_once_and_the_older_one_ends(group: Group) -> None:
    from pyspark_zkgroup.errors import FencedError

    topic = group.topic(2)
    group.produce(topic, 4)
    checkpoint = Checkpoint()
    a = group.query(topic, checkpoint, member_id="one", session="20000")
    a.trigger()
    group.produce(topic, 4)
    b = group.query(topic, checkpoint, member_id="one", session="20000")
    b.trigger()
    assert len(b.held) == 2
    group.produce(topic, 4)
    with pytest.raises(FencedError, match="has taken over the member id"):
        a.trigger()
    settle(b)
    assert set(group.owners(topic).values()) == {f"{group.name}_one-0", f"{group.name}_one-1"}
    assert missing(group, all_rows(a, b)) == [] == twice(all_rows(a, b))


def test_the_same_member_id_without_the_checkpoint_is_refused_while_the_other_lives(
    group: Group,
) -> None:
    from pyspark_zkgroup.errors import FencedError

    topic = group.topic(1)
    # Long, so that it does not end when the machine is suspended for a second. How long the other
    # waits follows from its own session.
    a = group.query(topic, member_id="one", session="20000")
    a.trigger()
    twin = group.query(topic, member_id="one", session="1000")
    with pytest.raises(FencedError, match=r"no checkpoint that shows"):
        twin.trigger()
    a.trigger()
    assert set(group.owners(topic).values()) == {f"{group.name}_one-0"}
