"""JVM members that do not read their share: no record is lost, and unread partitions are named."""

from __future__ import annotations

import pytest

from pyspark_zkgroup.model import TopicPartition
from tests.harness.spark_order import Query
from tests.harness.waiting import wait_until
from tests.interop.conftest import NewScene
from tests.interop.old_consumer import OldConsumer
from tests.interop.scene import Scene, Setup, is_of

pytestmark = [pytest.mark.interop, pytest.mark.long]

EACH = 20
# It gives up sooner than by default (4 times 2 seconds), but not before a boundary of ours, for
# which it waits when it joins, on a busy machine.
IMPATIENT = {"rebalance_backoff_ms": "1000"}


def test_a_jvm_member_that_has_given_up_is_named_and_woken(new_scene: NewScene) -> None:
    """The group changes during a batch of ours that outlasts the JVM member's patience: it releases
    everything, tries without success to claim what we still hold, and then waits for the next
    change. Our release at the next boundary is none: only zkgroup members watch owner nodes.
    """
    scene = new_scene(Setup("1.1.1"))
    scene.produce()
    # In the order of their ids the first one's share goes over to the second, and what that one
    # had to the JVM member.
    first, ours = sorted((scene.join(), scene.join()), key=lambda query: query.membership.member)
    jvm = scene.join_jvm(**IMPATIENT)
    scene.settle("two of ours and a JVM member")
    scene.leave(first)
    # No boundary of ours meanwhile: the batch lasts.
    wait_until(lambda: "can't rebalance after 4 retries" in jvm.log_text, 30, f"{jvm} to give up")
    unread = until_named(scene, ours)
    assert unread <= {p for p, t in expected(scene).items() if is_of(t, jvm.id)}
    assert any("rebalance.max.retries" in note for note in notes(ours))
    print(f"named: {len(unread)} partitions: {notes(ours)[0]}")
    scene.settle("woken by us, the JVM member tries again")
    scene.end_jvm(jvm)
    scene.settle("it leaves")
    scene.finish()


def test_a_jvm_member_with_another_order_is_named(new_scene: NewScene) -> None:
    """Round-robin of 0.8.2 in a group with our newer order: they assign each other's partitions.
    Each keeps what it has, no partition has two owners, nothing is read twice.
    """
    scene = new_scene(Setup("0.8.2.2", "roundrobin"))
    scene.produce()
    ours = scene.join(order="new")
    scene.until(lambda: len(scene.owners()) == 15, "us to own everything")
    jvm = scene.join_jvm(**IMPATIENT)
    scene.until(lambda: jvm.said and failed(jvm), "the JVM member to give up")
    unread = until_named(scene, ours)
    assert unread, notes(ours)
    assert any("before and after 1.0" in note for note in notes(ours))
    print(f"named: {len(unread)} partitions: {notes(ours)[0]}")
    scene.end_jvm(jvm)
    scene.until(lambda: len(scene.owners()) == 15, "us to own everything again")
    scene.finish()


def test_what_a_jvm_member_reads_and_never_commits_is_read_by_us(new_scene: NewScene) -> None:
    """A batch of ours is logged and we die; the JVM member takes over, we come back and leave the
    batch out; we die again before any other plan, it dies too. Its claims have not moved the
    fence: the checkpoint, which is ahead, must not count."""
    scene = new_scene(Setup("1.1.1"))
    for topic in scene.topics:
        scene.group.produce(topic, EACH)
    ours = scene.join()
    scene.settle("we are alone")
    scene.until(lambda: len(ours.rows) == 15 * EACH, "us to read everything")
    for topic in scene.topics:
        scene.group.produce(topic, EACH)
    scene.crash_in_batch(ours, "logged")
    jvm = scene.join_jvm(auto_commit_enable="false")
    scene.until(lambda: len(set(jvm.rows)) == 15 * EACH, "the JVM member to read the rest")

    again = scene.join(ours.checkpoint)
    # Our return makes it release everything: what is free again at that moment, and under the
    # fence of our plan, is replayed; what it holds is left out.
    assert again.trigger() < 15 * EACH
    scene.crash(again)
    scene.may_come_twice |= set(jvm.rows)
    scene.kill_jvm(jvm)
    scene.join(ours.checkpoint)
    scene.settle("we are back, alone")
    scene.finish()
    committed = scene.offsets()
    assert committed == dict.fromkeys(committed, 2 * EACH)


def notes(query: Query) -> list[str]:
    return [str(note) for note in query.membership.status()["notes"]]


def until_named(scene: Scene, query: Query) -> set[TopicPartition]:
    """Return the partitions without an owner, once each is named. Notes the names as they are
    logged: another member may read them again at once.
    """
    named: set[TopicPartition] = set()

    def complete() -> bool:
        told = " ".join(notes(query))
        named.update(p for p in expected(scene) if f"{p} has had no owner" in told)
        return bool(named)

    scene.until(complete, "the unread partitions to be named")
    return named


def expected(scene: Scene) -> dict[TopicPartition, str]:
    return scene.expected(scene.setup.version, scene.ids())


def failed(jvm: OldConsumer) -> bool:
    return any(said.startswith("#failed") for said in jvm.said)
