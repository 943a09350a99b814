"""jobs/compare.py, submitted: equal rows, and one that was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.job_scene import JobScene, job_scene
from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.kafka_source_jars import kafka_source_jars

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

JOB = "compare.py"


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> JobScene:
    return job_scene(sandbox, tmp_path)


def test_equal_rows_and_one_that_was_changed(scene: JobScene) -> None:
    jars = kafka_source_jars(print)
    groups = scene.groups()
    equal = scene.run("equal", scene.submitted(JOB, jars=jars))
    told = scene.ended(equal, "compare: ")
    assert equal.status == 0
    assert told[-1] == "compare: all 3000 rows of 3 partitions are equal"

    changed = scene.run("changed", scene.submitted(JOB, "--change-one-row", jars=jars))
    told = scene.ended(changed, "compare: ")
    assert changed.status == 1
    topic = scene.jobs.topic
    assert f"compare: {topic}-0 differs: 1000 rows of zkgroup, 1000 of Spark's" in told
    only = [line for line in told if line.startswith("compare: only in ")]
    assert len(only) == 2
    assert all('"offset":999' in line for line in only)
    assert '"value":"Y2hhbmdlZA=="' in next(line for line in only if "in zkgroup" in line)
    assert told[-1] == "compare: 1 of 3 partitions differ"
    assert scene.groups() == groups
