"""Restarts after kill -9 in mid-batch: what is read again, and what is left to others."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.plan import Plan
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.spark.drivers import Drivers
from tests.spark.scene import PATIENCE_S, Member, Scene, scene_on
from tests.spark.sink import Ranges
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PARTITIONS = 4
STATIC_SESSION_S = 40.0


def planned_ranges(plan: Plan, topic: str) -> Ranges:
    return {
        r.partition: (r.range,)
        for r in plan.ranges
        if r.partition.topic == topic and len(r.range) > 0
    }


def contents(member: Member, batch: int) -> list[Ranges]:
    return [d.ranges for d in member.deliveries if d.batch == batch]


def wait_delivered(member: Member, batch: int, times: int = 1) -> list[Ranges]:
    def delivered() -> list[Ranges]:
        found = contents(member, batch)
        return found if len(found) >= times else []

    return wait_until(delivered, PATIENCE_S, f"batch {batch} of {member.name}")


def crash_in_mid_batch(scene: Scene, member: Member, topics: list[str]) -> int:
    """A batch with records of all these topics is planned and logged; the driver dies before the
    sink gets any.
    """
    # The first records on their way make a batch of some of them; all others are in the next one.
    member.begin_holding(member.job.hold_tasks)
    for topic in topics:
        scene.produce(topic, 4)
    batch = member.wait_held()
    for topic in topics:
        scene.produce(topic, 400)
    batch = member.hold(member.job.hold_tasks, batch + 1)
    member.on.kill()
    assert not member.has(batch)
    return batch


def begin(scene: Scene, member: Member, topics: list[str]) -> None:
    for topic in topics:
        scene.produce(topic, 400)
    (driver,) = scene.lease(1)
    member.start(driver, stepped=True)
    scene.wait_all_delivered()


def short_session(scene: Scene, topics: list[str]) -> Member:
    return scene.member("a", ",".join(topics), **{"zookeeper.session.timeout.ms": "2000"})


def finish(scene: Scene, topics: list[str], *members: Member) -> None:
    verdict = scene.wait_all_delivered()
    print(verdict)
    for member in members:
        member.on.sigterm()
    for member in members:
        assert member.on.wait_ended()["error"] == ""
    assert verdict.exactly_once
    for topic in topics:
        assert scene.offsets(topic) == scene.ends(topic)


def test_a_replay_is_exact_also_after_a_second_crash(scene: Scene) -> None:
    topics = [scene.topic(PARTITIONS), scene.topic(PARTITIONS)]
    a = short_session(scene, topics)
    begin(scene, a, topics)
    batch = crash_in_mid_batch(scene, a, topics)
    plan = a.planned()[batch]
    exact = planned_ranges(plan, topics[0]) | planned_ranges(plan, topics[1])
    assert len(exact) == 2 * PARTITIONS
    # During the replay; and then nothing holds it any more.
    two, three = scene.lease(2)
    a.start(two)
    assert a.hold(a.job.hold_tasks, batch) == batch
    two.kill()
    assert contents(a, batch) == []
    a.go_on()
    a.start(three)
    assert wait_delivered(a, batch) == [exact]
    print(f"batch {batch}, replayed after two crashes: {len(exact)} ranges, as planned")
    finish(scene, topics, a)


@pytest.mark.long
def test_a_replay_leaves_out_what_another_member_took(scene: Scene) -> None:
    x, y = scene.topic(PARTITIONS), scene.topic(PARTITIONS)
    a = short_session(scene, [x, y])
    begin(scene, a, [x, y])
    batch = crash_in_mid_batch(scene, a, [x, y])
    plan = a.planned()[batch]
    assert len(planned_ranges(plan, x)) == len(planned_ranges(plan, y)) == PARTITIONS
    two, three = scene.lease(2)
    b = scene.member("b", x)
    b.start(two)
    taken = {TopicPartition(x, n) for n in range(PARTITIONS)}
    wait_until(
        lambda: taken <= {p for d in b.deliveries for p in d.partitions},
        PATIENCE_S,
        "b to take over",
    )
    a.go_on()
    a.start(three)
    assert wait_delivered(a, batch) == [planned_ranges(plan, y)]
    print(f"batch {batch}, replayed after another took {x}: {len(planned_ranges(plan, y))} ranges")
    finish(scene, [x, y], a, b)


@pytest.mark.long
def test_a_batch_the_sink_had_taken_comes_again_as_it_was(scene: Scene) -> None:
    """Between sink and commit log: Spark gives the same batch id again, with the same rows or, what
    another member took meanwhile, without them.
    """
    x, y = scene.topic(PARTITIONS), scene.topic(PARTITIONS)
    a = scene.member("a", f"{x},{y}", **{"zookeeper.session.timeout.ms": "2000"})
    one, two = scene.lease(2)
    a.begin_holding(a.job.hold_taken)
    scene.produce(x, 400)
    scene.produce(y, 400)
    a.start(one)

    def taken() -> list[int]:
        return [d.batch for d in a.deliveries if d.ranges]

    batch = wait_until(taken, PATIENCE_S, "a batch to be taken")[0]
    one.kill()
    a.start(two)
    first, again = wait_delivered(a, batch, times=2)
    assert first == again
    two.kill()

    b = scene.member("b", x)
    three, four = scene.lease(2)
    b.start(three)
    wait_until(lambda: any(d.ranges for d in b.deliveries), PATIENCE_S, "b to take over")
    a.go_on()
    a.start(four)
    third = wait_delivered(a, batch, times=3)[2]
    assert third == {p: r for p, r in first.items() if p.topic == y}
    verdict = scene.wait_all_delivered()
    print(verdict)
    once = judge([], (r for d in a.deliveries[:1] for r in d.records()))
    assert not verdict.missing
    assert set(verdict.duplicates) <= set(once.unknown)
    for driver in (three, four):
        driver.sigterm()


@pytest.mark.long
def test_a_static_member_takes_over_from_its_dead_self_at_once(
    new_sandbox: Callable[..., Sandbox], tmp_path: Path, drivers: Drivers
) -> None:
    # With these ticks a session lives too long for a test to wait for its end by mistake.
    with scene_on(new_sandbox(tick_ms=2000), tmp_path, drivers) as scene:
        topic = scene.topic(PARTITIONS)
        session = {"zookeeper.session.timeout.ms": str(int(STATIC_SESSION_S * 1000))}
        a = scene.member("a", topic, **{"member.id": "one", **session})
        one, two = scene.lease(2)
        scene.produce(topic, 400)
        a.start(one, stepped=True)
        scene.wait_all_delivered()
        batch = crash_in_mid_batch(scene, a, [topic])
        killed = time.time()
        exact = planned_ranges(a.planned()[batch], topic)
        a.go_on()
        a.start(two)
        assert wait_delivered(a, batch) == [exact]
        claimed = max(owner.since for owner in scene.owners(topic).values()) - killed
        print(
            f"taken over {claimed:.2f} s after kill -9; "
            f"the session would have lived {STATIC_SESSION_S:.0f} s"
        )
        assert claimed < STATIC_SESSION_S
        verdict = scene.wait_all_delivered()
        two.sigterm()
        assert two.wait_ended()["error"] == ""
        assert verdict.exactly_once
