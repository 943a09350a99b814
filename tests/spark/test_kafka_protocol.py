"""Real Spark, with the brokers' group coordinator and without ZooKeeper in the options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.harness.oracle import Record, judge
from tests.harness.waiting import wait_until
from tests.kafka.plain_consumers import JavaConsumer
from tests.spark.job import AVAILABLE_NOW, Job
from tests.spark.scene import PATIENCE_S, Member, Scene

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


def test_available_now_drains_everything_and_continues_where_it_ended(scene: Scene) -> None:
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


@pytest.mark.interop
@pytest.mark.long
def test_a_jvm_consumer_shares_the_group_with_two_queries(scene: Scene, tmp_path: Path) -> None:
    """It joins, a query leaves and comes back, it leaves, another joins and is killed, a query is
    killed: nothing is lost, and only what the killed had in hand comes twice.
    """
    topic = scene.topic(6)
    one, two, three, four = scene.lease(4)
    a, b = member(scene, "a", topic), member(scene, "b", topic)
    plain: list[JavaConsumer] = []

    def jvm() -> JavaConsumer:
        log = tmp_path / f"jvm-{len(plain)}.log"
        plain.append(JavaConsumer(scene.sandbox.bootstrap_servers, scene.group, topic, log))
        return plain[-1]

    def read_on(*readers: Member) -> Callable[[], bool]:
        before = [len(reader.deliveries) for reader in readers]
        return lambda: all(
            len(reader.deliveries) > count + 1
            for reader, count in zip(readers, before, strict=True)
        )

    def rows() -> list[Record]:
        return [*scene.delivered(), *(row for consumer in plain for row in consumer.rows)]

    scene.begin_producing(topic, 200)
    try:
        a.start(one)
        b.start(two)
        wait_until(read_on(a, b), PATIENCE_S, "both to read")
        first = jvm()
        wait_until(lambda: first.held == 2 and len(first.rows) > 100, PATIENCE_S, "its third")
        wait_until(read_on(a, b), PATIENCE_S, "both to read on")
        b.on.sigterm()
        assert b.on.wait_ended()["error"] == ""
        wait_until(lambda: first.held == 3, PATIENCE_S, "its half")
        b.start(three)
        wait_until(lambda: first.held == 2, PATIENCE_S, "its third again")
        wait_until(read_on(a, b), PATIENCE_S, "both to read once more")
        first.close()
        second = jvm()
        wait_until(lambda: second.held == 2 and len(second.rows) > 100, PATIENCE_S, "its share")
        clean = judge(scene.acknowledged(), rows())
        assert not clean.duplicates, str(clean)
        second.kill()
        wait_until(read_on(a, b), PATIENCE_S, "both to read after it")
        a.on.kill()
        died_with = a.in_flight()
        a.start(four)
        wait_until(read_on(a, b), PATIENCE_S, "a to come back")
        scene.end_producing()

        def all_read() -> bool:
            verdict = judge(scene.acknowledged(), rows())
            assert not verdict.missing, str(verdict)
            return True

        wait_until(all_read, PATIENCE_S, "everything to be read", interval_s=0.3)
    finally:
        for consumer in plain:
            consumer.close()
    verdict = judge(scene.acknowledged(), rows())
    print(verdict)
    assert not verdict.unknown
    # It prints a poll's 20 records, and commits them then.
    assert set(verdict.duplicates) <= set(second.rows[-20:]) | died_with
