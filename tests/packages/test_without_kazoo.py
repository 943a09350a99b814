"""A light member needs no ZooKeeper, and so no kazoo: neither itself nor the job it runs in."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packages.clean_python import ROOT

PROGRAM = """
import runpy, sys
sys.modules["kazoo"] = None
sys.argv = [sys.argv[1], "--help"]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("job", ["stream_to_delta.py", "drain.py"])
def test_a_job_that_streams_begins_without_it(job: str, tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "jobs" / job)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert told.returncode == 0, told.stderr
    assert f"usage: {job}" in told.stdout
