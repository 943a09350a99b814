"""How much one batch takes and into how many tasks it is cut, with Spark itself."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from tests.harness.waiting import wait_until
from tests.spark.drivers import Driver
from tests.spark.job import AVAILABLE_NOW, ONCE
from tests.spark.scene import PATIENCE_S, Member, Scene

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def sizes(member: Member) -> list[int]:
    """Rows of each batch that had any."""
    counted = [sum(1 for _ in delivery.records()) for delivery in member.deliveries]
    return [count for count in counted if count]


def wait_rows(member: Member, count: int) -> None:
    wait_until(lambda: sum(sizes(member)) == count, PATIENCE_S, f"{count} rows to be delivered")


def held_back(driver: Driver, times: int) -> None:
    def said() -> bool:
        return driver.log.read_text(errors="replace").count("a batch is held back") >= times

    wait_until(said, PATIENCE_S, "a batch to be held back")


@pytest.mark.long
def test_the_least_the_most_and_how_long(scene: Scene) -> None:
    topic = scene.topic(2)
    (driver,) = scene.lease(1)
    least = {"minOffsetsPerTrigger": "100", "maxOffsetsPerTrigger": "150"}
    scene.produce(topic, 40)
    a = scene.member("a", topic, **least, maxTriggerDelay="1h")
    before = driver.log.read_text(errors="replace").count("a batch is held back")
    a.start(driver)
    wait_rows(a, 40)
    scene.produce(topic, 60, first=40)
    held_back(driver, before + 1)
    scene.produce(topic, 140, first=100)
    wait_rows(a, 190)
    held_back(driver, before + 2)
    assert sizes(a) == [40, 150]
    driver.sigterm()
    assert driver.wait_ended()["error"] == ""
    assert sum(scene.offsets(topic).values()) == 190

    a.start(driver, options={**a.job.options, "maxTriggerDelay": "3s"})
    wait_rows(a, 240)
    scene.produce(topic, 10, first=240)
    wait_rows(a, 250)
    first, second = a.deliveries[-2:]
    print(f"held back for {second.began - first.began:.1f} s of 3 s")
    # From the plan of the one to that of the other; what Spark hands over is later.
    assert second.began - first.began > 2.0
    driver.sigterm()
    assert driver.wait_ended()["error"] == ""

    scene.produce(topic, 300, first=250)
    a.start(driver, trigger=ONCE)
    assert driver.wait_ended()["error"] == ""
    assert sizes(a)[-1] == 300
    assert scene.verdict().exactly_once, str(scene.verdict())


@pytest.mark.long
def test_bytes_and_tasks_of_a_job_that_ends_by_itself(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 1500)
    (driver,) = scene.lease(1)
    a = scene.member(
        "a",
        topic,
        AVAILABLE_NOW,
        maxBytesPerTrigger="64k",
        minOffsetsPerTrigger="100000",
        minPartitions="6",
        maxRecordsPerPartition="200",
    )
    # Each task is tried twice, and each try leaves a note.
    a.start(driver, stepped=True, fail_first=True)
    assert driver.wait_ended(2 * PATIENCE_S)["error"] == ""
    verdict = scene.verdict()
    assert verdict.exactly_once, str(verdict)
    found = sizes(a)
    print(f"{verdict}: batches of {found} rows")
    assert len(found) in (3, 4)
    assert max(found) < 2 * min(found[:-1])

    tasks: Counter[int] = Counter()
    rows: list[int] = []
    for path in a.job.attempts.glob("*.json"):
        attempt: dict[str, Any] = json.loads(path.read_text())
        if attempt["attempt"]:
            tasks[attempt["stage"]] += 1
            rows.append(len(attempt["rows"]))
    print(f"tasks of each batch: {sorted(tasks.values())}, with up to {max(rows)} rows")
    assert max(rows) <= 200
    # Without either there would be two, one of each thread.
    assert sorted(tasks.values())[1:] >= [5] * (len(found) - 1)
    assert len(tasks) == len(found)
