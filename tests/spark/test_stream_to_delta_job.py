"""jobs/stream_to_delta.py, submitted: until SIGTERM, then by another one to the logs' ends."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.harness.delta_table import records
from tests.harness.oracle import judge
from tests.harness.waiting import wait_until
from tests.spark.job_scene import DEADLINE_S, JobScene, job_scene
from tests.spark.processes import find_all_below
from zkgroup_sandbox import Sandbox

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.timeout(900)]

JOB = "stream_to_delta.py"


@pytest.fixture
def scene(sandbox: Sandbox, tmp_path: Path) -> JobScene:
    return job_scene(sandbox, tmp_path)


def python_of_the_job() -> int:
    """Its leash, the shell of spark-submit and the JVM name the job in their commands as well."""
    (found,) = (
        pid
        for pid in find_all_below(os.getpid(), f"{JOB} ")
        if "python" in str(Path(f"/proc/{pid}/exe").readlink())
        and "leash.py" not in Path(f"/proc/{pid}/cmdline").read_text()
    )
    return found


@pytest.mark.parametrize(
    "route", [("--through-spark",), ("--direct",)], ids=["through Spark", "direct"]
)
def test_it_streams_until_sigterm_and_another_continues_and_ends(
    scene: JobScene, route: tuple[str, ...]
) -> None:
    group = ("--group", "streaming", *route)
    command = scene.submitted(
        JOB, *group, *scene.into("first"), "--follow", "0", "--max-offsets", "300"
    )
    first = scene.run("first", command)
    try:
        wait_until(lambda: first.lines("stream_to_delta: batch "), DEADLINE_S, "the first batch")
        os.kill(python_of_the_job(), signal.SIGTERM)
    except BaseException:
        first.kill()
        raise
    told = scene.ended(first, "stream_to_delta: ")
    assert first.status == 0
    assert told[-1].startswith("stream_to_delta: read ")
    committed = sum(scene.committed("streaming").values())
    found = records(scene.jobs.table)
    assert 300 <= len(found) == len(set(found)) == committed
    assert f"read {committed} offsets in " in told[-1]
    assert scene.owners("streaming") == 0

    # With a separate checkpoint: the group alone decides where it begins.
    second = scene.run(
        "second", scene.submitted(JOB, *group, *scene.into("second"), "--available-now")
    )
    told = scene.ended(second, "stream_to_delta: ")
    assert second.status == 0
    if committed < len(list(scene.produced.offsets())):
        assert f"read {3_000 - committed} offsets in 1 batch in " in told[-1]
    assert "lag 0 on 3 partitions of streaming_" in told[-1]
    assert scene.committed("streaming") == scene.produced.end_offsets
    assert judge(scene.produced.offsets(), records(scene.jobs.table)).exactly_once
