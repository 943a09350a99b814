"""Members die between Delta's commit and the offsets' commit; paused ones wake up and append."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.harness.waiting import wait_until
from tests.spark.delta_members import PATIENCE_S, DeltaScene, delta_scene
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.timeout(3000)]

RECORDS = 120


def crash(scene: DeltaScene, drivers: int, planners: int) -> None:
    """`one` is killed so often, each time right after an append; `two` takes over where it may."""
    one = scene.member("one", **{"member.id": "one"})
    two = scene.member("two")
    # A dead driver is gone for longer than its session, a dead planner is not.
    every = max(1, (drivers + planners) // max(1, drivers))
    scene.produce(RECORDS)
    one.start()
    one.wait_event("appended")
    two.start()
    for n in range(drivers + planners):
        order = "driver" if n % every == 0 and n // every < drivers else "planner"
        if order == "planner" and n % 2:
            order = "planner and batch"
        one.order("crash-after", order)

        def struck(times: int = n + 1) -> bool:
            # Until `one` owns something again, all that is produced goes to `two`.
            scene.produce(RECORDS)
            return len(one.events("crash")) >= times

        wait_until(struck, PATIENCE_S, f"crash {n + 1}", interval_s=3.0)
        if order == "driver":
            wait_until(lambda: one.ended, PATIENCE_S, "the driver's end")
            # What `one` appended and did not commit, `two` reads again.
            two.wait_event("appended")
            one.start()
    found = scene.wait_complete()
    assert len(one.events("crash driver")) == drivers
    assert len(one.events("crash planner")) == planners
    failed = [line for line in one.events("failed") if "ZKG-012" in line]
    assert failed == []
    assert two.events("failed") == []
    assert two.events("appended")
    print(f"{drivers} drivers and {planners} planners killed after their appends: {found}")


@pytest.mark.long
def test_kill_between_the_tables_commit_and_the_offsets(sandbox: Sandbox, tmp_path: Path) -> None:
    with delta_scene(sandbox, tmp_path) as scene:
        crash(scene, drivers=1, planners=0)


@pytest.mark.long
def test_kill_between_the_two_commits_fifty_times(sandbox: Sandbox, tmp_path: Path) -> None:
    with delta_scene(sandbox, tmp_path) as scene:
        crash(scene, drivers=10, planners=40)


@pytest.mark.long
@pytest.mark.parametrize("first", ["successor", "zombie"])
def test_a_paused_member_wakes_up_and_appends_what_was_taken_over(
    sandbox: Sandbox, tmp_path: Path, first: str
) -> None:
    with delta_scene(sandbox, tmp_path) as scene:
        zombie, successor = scene.member("zombie"), scene.member("successor")
        zombie.order("hold-before")
        scene.produce(RECORDS)
        zombie.start()
        zombie.wait_event("held")
        taken = zombie.planned()
        # Its session ends while the successor's JVM starts.
        zombie.signal(signal.SIGSTOP)
        if first == "zombie":
            successor.order("hold-before")
        successor.start()
        if first == "zombie":
            successor.wait_event("held")
            # It is to append the very records that the zombie, which does not know, appends now.
            assert taken & successor.planned()
        else:
            scene.wait_complete()
        zombie.revoke("hold-before")
        zombie.signal(signal.SIGCONT)
        zombie.wait_event("appended")
        if first == "zombie":
            assert scene.verdict().delivered == len(taken)
            successor.revoke("hold-before")
        successor.wait_event("appended")
        found = scene.wait_complete()
        print(f"{first} first: {found}")
        # Both continue, each with its share.
        scene.produce(RECORDS)
        scene.wait_complete()
        assert successor.events("failed") == []


@pytest.mark.long
def test_a_member_stopped_within_its_write_does_not_hold_up_others(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    """It has no lock before it commits, and then finds that its records are there."""
    with delta_scene(sandbox, tmp_path) as scene:
        holder, successor = scene.member("holder"), scene.member("successor")
        holder.order("hold-within")
        scene.produce(RECORDS)
        holder.start()
        holder.wait_event("held")
        holder.signal(signal.SIGSTOP)
        successor.start()
        scene.wait_complete()
        holder.revoke("hold-within")
        holder.signal(signal.SIGCONT)
        holder.wait_event("appended")
        scene.wait_complete()
        scene.produce(RECORDS)
        scene.wait_complete()
        assert successor.events("failed") == []
