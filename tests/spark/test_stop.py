"""Stops that cannot be clean, and how little they repeat."""

from __future__ import annotations

import pytest

from tests.harness.oracle import judge
from tests.spark.scene import Member, Scene

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

PARTITIONS = 12
PER_SECOND = 500


def two_members(scene: Scene, topic: str) -> tuple[Member, Member]:
    a, b = (scene.member(name, topic) for name in "ab")
    for member, driver in zip((a, b), scene.lease(2), strict=True):
        member.start(
            driver,
            stepped=True,
            options={**member.job.options, "checkpointLocation": str(member.job.checkpoint)},
        )
    scene.wait_shares(topic, {"a": 6, "b": 6}, "two members to share")
    return a, b


@pytest.mark.long
def test_a_bare_stop_between_sink_and_commit_log_repeats_that_batch_at_most(scene: Scene) -> None:
    """The one stop that cannot be clean: the sink has the batch and Spark has not logged it. Spark
    itself would give it to the sink again.
    """
    topic = scene.topic(PARTITIONS)
    scene.begin_producing(topic, PER_SECOND)
    a, b = two_members(scene, topic)
    batch = a.hold(a.job.hold_taken)
    taken = [d for d in a.deliveries if d.batch == batch]
    a.on.bare_stop()
    a.go_on()
    assert a.on.wait_ended()["error"] == ""
    scene.wait_shares(topic, {"b": 12}, "b to take over")
    scene.end_producing()
    verdict = scene.wait_all_delivered()
    b.on.sigterm()
    assert b.on.wait_ended()["error"] == ""
    logged = (a.job.checkpoint / "commits" / str(batch)).exists()
    print(f"batch logged as finished: {logged}; {verdict}")
    again = judge([], taken[0].records()).unknown
    assert set(verdict.duplicates) == (set() if logged else set(again))
