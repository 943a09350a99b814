"""jobs/backfill.py, submitted: killed in the middle, run again, and once more for nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.harness.delta_table import records
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.spark.job_scene import DEADLINE_S, JobScene, job_scene
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

JOB = "backfill.py"
STEPS = 5


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> JobScene:
    return job_scene(sandbox, tmp_path)


def test_it_continues_where_it_broke_off_and_appends_nothing_twice(scene: JobScene) -> None:
    topic = scene.jobs.topic
    groups = scene.groups()
    ranges = {"0": [100, 1000], "1": [0, 700], "2": [950, 1000]}
    wanted = [
        (topic, int(p), o) for p, (start, until) in ranges.items() for o in range(start, until)
    ]
    arguments = (
        *("--starting-offsets", json.dumps({topic: {p: r[0] for p, r in ranges.items()}})),
        *("--ending-offsets", json.dumps({topic: {p: r[1] for p, r in ranges.items()}})),
        *("--max-offsets", str(len(wanted) // STEPS)),
        *scene.into("backfill"),
    )
    command = scene.submitted(JOB, *arguments)

    killed = scene.run("killed", command)
    try:
        wait_until(lambda: killed.lines("backfill: step 2 "), DEADLINE_S, "two steps")
    finally:
        killed.kill()
    # A step that is in the table and was not noted: what is worst for the next run.
    noted = sorted((scene.jobs.directory / "checkpoint-backfill").glob("step-*"))
    assert 2 <= len(noted) < STEPS, "it was too quick to be killed"
    noted[-1].unlink()

    again = scene.run("again", command)
    told = scene.ended(again, "backfill: ")
    assert again.status == 0
    assert f"backfill: continuing: {len(noted) - 1} of {STEPS} steps are done" in told
    assert told[-1].endswith("all steps are done")
    assert judge(wanted, records(scene.jobs.table)).exactly_once

    for_nothing = scene.run("for-nothing", command)
    told = scene.ended(for_nothing, "backfill: ")
    assert for_nothing.status == 0
    assert told[-1].startswith("backfill: read 0 rows in 0 steps in ")

    changed = [*command, "--ending-offsets", "latest"]
    refused = scene.run("refused", changed)
    told = scene.ended(refused, "backfill: ")
    assert refused.status == 1
    assert "[ZKG-006] " in told[-1]
    assert "belongs to a backfill with other arguments: ending_offsets " in told[-1]
    assert judge(wanted, records(scene.jobs.table)).exactly_once
    assert scene.groups() == groups
