"""Real Spark, with the brokers' group coordinator and without ZooKeeper in the options."""

from __future__ import annotations

import pytest

from tests.spark.job import AVAILABLE_NOW, Job
from tests.spark.scene import PATIENCE_S, Member, Scene
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.parametrize("scene", ["sandbox_41"], indirect=True),
]


def member(scene: Scene, name: str, topic: str, trigger: str = "0", **options: str) -> Member:
    given = {
        "protocol": "kafka",
        "kafka.bootstrap.servers": scene.sandbox.bootstrap_servers,
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
        "group.id": scene.group,
        "subscribe": topic,
        "startingOffsets": "earliest",
        **options,
    }
    made = Member(name, Job(scene.directory / name, given, trigger))
    scene.members.append(made)
    return made


def test_available_now_drains_everything_and_goes_on_where_it_ended(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 1000)
    (driver,) = scene.lease(1)
    a = member(scene, "a", topic, AVAILABLE_NOW, maxOffsetsPerTrigger="400")
    a.start(driver)
    assert driver.wait_ended()["error"] == ""
    assert scene.verdict().exactly_once
    scene.produce(topic, 1000, first=1000)
    a.start(driver)
    assert driver.wait_ended()["error"] == ""
    assert scene.verdict().exactly_once


@pytest.mark.long
def test_a_driver_that_is_killed_in_mid_batch_comes_back(scene: Scene) -> None:
    topic = scene.topic(4)
    one, two, three = scene.lease(3)
    a, b = member(scene, "a", topic), member(scene, "b", topic)
    scene.begin_producing(topic, 200)
    a.start(one, stepped=True)
    b.start(two)
    wait_until(lambda: a.deliveries and b.deliveries, PATIENCE_S, "both to read")
    a.hold(a.job.hold_tasks)
    one.kill()
    a.go_on()
    a.start(three)
    before = len(a.deliveries)
    wait_until(lambda: len(a.deliveries) > before + 2, PATIENCE_S, "a to read on")
    scene.end_producing()
    verdict = scene.wait_all_delivered()
    assert not verdict.missing
