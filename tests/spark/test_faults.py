"""Parts of a driver die or stand still in mid-batch. The other member takes over; nothing is lost,
and nothing comes twice but that batch.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from tests.harness.oracle import Record
from tests.harness.waiting import wait_until
from tests.spark.drivers import Driver
from tests.spark.scene import PATIENCE_S, Member, Scene

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(600)]

PARTITIONS = 8
PER_SECOND = 500
SESSION_S = 4.0


def two_members(scene: Scene, topic: str, trigger: str = "0", **of_a: str) -> tuple[Member, Member]:
    session = {"zookeeper.session.timeout.ms": str(int(SESSION_S * 1000))}
    a, b = (scene.member(name, topic, trigger, **session) for name in "ab")
    a.job.options.update(of_a)
    for member, driver in zip((a, b), scene.lease(2), strict=True):
        member.job.options["checkpointLocation"] = str(member.job.checkpoint)
        member.start(driver, stepped=True)
    scene.wait_shares(topic, {"a": 4, "b": 4}, "two members to share")
    return a, b


def finish(scene: Scene, topic: str, batch: set[Record], *members: Member) -> None:
    scene.end_producing()
    verdict = scene.wait_all_delivered()
    for member in members:
        member.on.sigterm()
    for member in members:
        assert member.on.wait_ended()["error"] == ""
    print(verdict)
    assert set(verdict.duplicates) <= batch
    assert scene.offsets(topic) == scene.ends(topic)


@pytest.mark.parametrize(
    "fault",
    [Driver.kill, Driver.kill_jvm, Driver.kill_planner, Driver.terminate_jvm],
    ids=["all killed", "JVM killed", "planner killed", "JVM terminated"],
)
def test_a_fault_in_mid_batch_repeats_that_batch_at_most(
    scene: Scene, fault: Callable[[Driver], None]
) -> None:
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic)
    consumer = a.consumer
    batch = a.records_of(a.hold(a.job.hold_tasks))
    broken = time.time()
    fault(a.on)
    free = scene.wait_no_owner(topic, consumer)
    print(f"{a.name} owned nothing any more {free - broken:.2f} s later")
    assert free - broken <= SESSION_S + 2.0
    a.go_on()
    owners = scene.wait_shares(topic, {"b": 8}, "b to take over")
    claimed = max(owner.since for owner in owners.values())
    print(f"b had claimed everything {claimed - broken:.2f} s after the fault")
    if fault is Driver.kill_planner:
        # Spark finds out when it asks the planner for the next batch, and fails the query.
        assert a.on.wait_ended()["error"]
    finish(scene, topic, batch, b)


@pytest.mark.parametrize("pause_s", [1.0, 8.0], ids=["shorter", "longer"])
def test_a_pause_repeats_the_batch_under_way_if_it_outlives_the_session(
    scene: Scene, pause_s: float
) -> None:
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic)
    batch = a.records_of(a.hold(a.job.hold_tasks))
    before = scene.owners(topic)
    a.on.pause()
    if pause_s > SESSION_S:
        scene.wait_shares(topic, {"b": 8}, "b to take over")
    else:
        scene.wait_passed(pause_s)
    a.on.resume()
    a.go_on()
    after = scene.wait_shares(topic, {"a": 4, "b": 4}, "both to share again")
    if pause_s < SESSION_S:
        assert {p: o.life for p, o in after.items()} == {p: o.life for p, o in before.items()}
    finish(scene, topic, batch if pause_s > SESSION_S else set(), a, b)


def test_a_suspended_jvm_gives_up_its_share_after_the_longest_silence(
    scene: Scene,
) -> None:
    """Its planner runs on and is heard by ZooKeeper, so nothing else would free the partitions."""
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic, **{"max.poll.interval.ms": "10000"})
    batch = a.records_of(a.hold(a.job.hold_tasks))
    stopped = time.time()
    a.on.pause_jvm()
    owners = scene.wait_shares(topic, {"b": 8}, "b to take over")
    claimed = max(owner.since for owner in owners.values())
    print(f"b had claimed everything {claimed - stopped:.2f} s after the JVM stopped")
    a.on.resume()
    a.go_on()
    scene.wait_shares(topic, {"a": 4, "b": 4}, "both to share again")
    assert any("[ZKG-103]" in line for line in a.on.warnings())
    finish(scene, topic, batch, a, b)


@pytest.mark.parametrize(
    "fault", [Driver.terminate_jvm, Driver.kill_jvm], ids=["terminated", "killed"]
)
def test_a_driver_that_ends_between_triggers_repeats_nothing(
    scene: Scene, fault: Callable[[Driver], None]
) -> None:
    """No code of the job runs: the planner sees in Spark's commit log that its batch is done."""
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic, trigger="10")
    consumer = a.consumer
    since = time.time()
    wait_until(
        lambda: any(e["at"] > since for e in a.on.events("progress")),
        PATIENCE_S,
        "a to end a batch",
    )
    broken = time.time()
    fault(a.on)
    print(f"a owned nothing any more {scene.wait_no_owner(topic, consumer) - broken:.2f} s later")
    scene.wait_shares(topic, {"b": 8}, "b to take over")
    finish(scene, topic, set(), b)
