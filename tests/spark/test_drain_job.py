"""jobs/drain.py as a user runs it: by Python and submitted, to its end and until SIGTERM."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.delta_table import records
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.spark.job_scene import DEADLINE_S, JobScene, job_scene
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.ports import LOOPBACK, free_ports

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> JobScene:
    return job_scene(sandbox, tmp_path)


def reading(scene: JobScene, group: str) -> list[str]:
    """The job by plain Python, to its end."""
    return scene.by_python("drain.py", "--group", group, *scene.into(group))


def test_it_drains_by_python_and_the_table_holds_each_record_once(scene: JobScene) -> None:
    driver = scene.run("by-python", reading(scene, "by-python"))
    told = scene.ended(driver)
    assert driver.status == 0
    assert told[0].startswith("drain: tasks write the files of /")
    assert told[-1].startswith("drain: read 3000 offsets in 1 batch in ")
    assert "lag 0 on 3 partitions of by-python_" in told[-1]
    assert scene.committed("by-python") == scene.produced.end_offsets
    assert scene.owners("by-python") == 0
    assert judge(scene.produced.offsets(), records(scene.jobs.table)).exactly_once


@pytest.mark.long
def test_another_group_submitted_adds_nothing_and_the_judge_sees_a_row_gone(
    scene: JobScene,
) -> None:
    # Without Delta's jars, as a user would run it.
    first = scene.run("first", reading(scene, "first"), PYSPARK_SUBMIT_ARGS="pyspark-shell")
    scene.ended(first)
    assert first.status == 0

    submitted = scene.run("submitted", scene.jobs.drain())
    told = scene.ended(submitted)
    assert submitted.status == 0
    assert told[-1].startswith("drain: read 3000 offsets in 1 batch in ")
    assert judge(scene.produced.offsets(), records(scene.jobs.table)).exactly_once

    # The demo's own judge sees it when one row is taken away.
    path = scene.jobs.directory / "produced.json"
    path.write_text(json.dumps({"topic": scene.jobs.topic, "ranges": scene.produced.ranges}))
    verify = scene.run("verify", scene.jobs.verify(path, remove_one_row=True))
    scene.ended(verify)
    assert verify.lines("produced ") == ["produced 3000, in Delta 2999, missing 1, duplicates 0"]
    assert verify.status == 1


@pytest.mark.long
def test_sigterm_ends_it_with_all_that_was_read_committed(scene: JobScene) -> None:
    command = [*reading(scene, "follower"), "--follow", "0", "--max-offsets", "300"]
    follower = scene.run("follower", command)
    try:
        wait_until(lambda: follower.lines("drain: batch "), DEADLINE_S, "the first batch")
        follower.leave()
    except BaseException:
        follower.kill()
        raise
    told = scene.ended(follower)
    assert follower.status == 0
    assert told[-1].startswith("drain: read ")
    committed = scene.committed("follower")
    found = records(scene.jobs.table)
    assert 300 <= len(found) == len(set(found)) == sum(committed.values())
    assert scene.owners("follower") == 0


@pytest.mark.long
def test_a_failure_is_one_line_and_status_1(scene: JobScene) -> None:
    nowhere = f"{LOOPBACK}:{free_ports(1)[0]}"
    command = reading(scene, "absent")
    command[command.index("--zookeeper") + 1] = nowhere
    failing = scene.run("failing", [*command, "--option", "zookeeper.connection.timeout.ms=500"])
    told = scene.ended(failing)
    assert failing.status == 1
    assert told[-1].startswith("drain: failed: ")
    assert f"[ZKG-002] ZooKeeper at {nowhere} did not answer within 500 ms" in told[-1]
