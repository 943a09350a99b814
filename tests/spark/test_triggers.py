"""Triggers that end by themselves, tasks that are tried again, and what the progress shows."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.spark.job import AVAILABLE_NOW, ONCE
from tests.spark.scene import PATIENCE_S, Member, Scene

LONG_TRIGGER = "60"

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]


def reported(member: Member) -> list[dict[str, Any]]:
    """What sources[].latestOffset showed, oldest first."""
    shown = [p["sources"][0]["latestOffset"] for p in member.on.progress]
    return [json.loads(s) if isinstance(s, str) else s for s in shown]


def test_available_now_and_once_drain_everything_and_commit_it(scene: Scene) -> None:
    topic = scene.topic(12)
    scene.produce(topic, 5000)
    (driver,) = scene.lease(1)
    a = scene.member("a", topic, AVAILABLE_NOW, maxOffsetsPerTrigger="2000")
    a.start(driver)
    assert driver.wait_ended()["error"] == ""
    verdict = scene.verdict()
    assert verdict.exactly_once, str(verdict)
    assert scene.offsets(topic) == scene.ends(topic)
    batches = len([d for d in a.deliveries if d.ranges])
    print(f"available-now: {verdict}, in {batches} batches of at most 2000")
    assert batches == 3

    scene.produce(topic, 5000, first=5000)
    a.start(driver, trigger=ONCE)
    assert driver.wait_ended()["error"] == ""
    verdict = scene.verdict()
    assert verdict.exactly_once, str(verdict)
    print(f"once: {verdict}, in {len([d for d in a.deliveries if d.ranges]) - batches} batch")
    assert len([d for d in a.deliveries if d.ranges]) == batches + 1
    # No boundary follows a single batch, so it is settled at the next start.
    a.start(driver, trigger=AVAILABLE_NOW)
    assert driver.wait_ended()["error"] == ""
    assert scene.verdict().exactly_once
    assert scene.offsets(topic) == scene.ends(topic)


def test_available_now_after_a_crash_waits_for_its_own_dead_session(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 400)
    one, two = scene.lease(2)
    a = scene.member("a", topic, AVAILABLE_NOW)
    a.begin_holding(a.job.hold_tasks)
    a.start(one, stepped=True)
    a.wait_held()
    one.kill()
    a.go_on()
    # A new checkpoint: nothing but the group's offsets and the dead member's owner nodes.
    again = scene.member("again", topic, AVAILABLE_NOW)
    again.start(two)
    assert two.wait_ended()["error"] == ""
    verdict = scene.verdict()
    print(f"available-now with a dead session: {verdict}")
    assert verdict.exactly_once


def test_a_task_that_is_tried_again_reads_the_same_rows(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 2000)
    (driver,) = scene.lease(1)
    a = scene.member("a", topic, AVAILABLE_NOW)
    a.start(driver, stepped=True, fail_first=True)
    assert driver.wait_ended()["error"] == ""
    attempts: dict[tuple[int, int], dict[int, list[Any]]] = {}
    for path in a.job.attempts.glob("*.json"):
        found = json.loads(path.read_text())
        attempts.setdefault((found["stage"], found["task"]), {})[found["attempt"]] = found["rows"]
    assert len(attempts) == 2
    for rows in attempts.values():
        assert rows.keys() == {0, 1}
        assert rows[0] == rows[1]
    read = judge([], (tuple(r) for rows in attempts.values() for r in rows[1]))
    print(f"{len(attempts)} tasks, each read the same {read.delivered // 2} rows twice")
    assert scene.verdict().exactly_once


def test_the_progress_shows_lag_and_whom_it_waits_for(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 4000)
    node = f"/consumers/{scene.group}/owners/{topic}/3"
    scene.client.create(node, b"stuck_consumer-0", ephemeral=True, makepath=True)
    (driver,) = scene.lease(1)
    a = scene.member("a", topic, maxOffsetsPerTrigger="1500")
    a.start(driver)
    wait_until(lambda: len(list(a.delivered())) == 3000, PATIENCE_S, "what is free to be read")

    def seen() -> list[dict[str, Any]]:
        found = [r for r in reported(a) if r["held"] == 3]
        return found if len(found) >= 2 else []

    first, second = wait_until(seen, PATIENCE_S, "both batches in the progress")
    print(f"progress: {first}")
    assert (first["members"], first["waitingCount"]) == (1, 1)
    assert first["waiting"][f"{topic}-3"].startswith("owned by stuck_consumer-0")
    assert (first["lag"], second["lag"]) == (1500, 0)
    assert first["latest"] == {topic: {"0": 1000, "1": 1000, "2": 1000}}
    wait_until(
        lambda: any("[ZKG-122]" in line for line in driver.warnings()), PATIENCE_S, "the warning"
    )
    scene.client.delete(node)
    scene.wait_all_delivered()
    wait_until(lambda: reported(a)[-1]["waitingCount"] == 0, PATIENCE_S, "the progress to show it")
    driver.sigterm()
    assert driver.wait_ended()["error"] == ""
    assert scene.verdict().exactly_once


def test_a_stop_between_long_triggers_does_not_wait_for_the_next(scene: Scene) -> None:
    topic = scene.topic(4)
    scene.produce(topic, 400)
    (driver,) = scene.lease(1)
    a = scene.member("a", topic, LONG_TRIGGER)

    def stop() -> float:
        asked = time.time()
        driver.sigterm()
        assert driver.wait_ended()["error"] == ""
        assert not [line for line in driver.warnings() if "without having drained" in line]
        return time.time() - asked

    a.start(driver)
    scene.wait_all_delivered()
    after_batch = stop()
    assert scene.offsets(topic) == scene.ends(topic)
    # Now there is nothing to read, so Spark's progress names no batch of this run.
    a.start(driver)
    wait_until(lambda: len(scene.owners(topic)) == 4, PATIENCE_S, "the first boundary")
    without_batch = stop()
    print(f"stopped {after_batch:.2f} s and {without_batch:.2f} s after it was asked")
    assert max(after_batch, without_batch) < int(LONG_TRIGGER) / 2
    assert scene.verdict().exactly_once
