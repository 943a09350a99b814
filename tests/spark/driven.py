"""Runs a module in a driver with Delta, in a separate process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark_zkgroup.delta.jars import delta_jars
from zkgroup_sandbox.demo.spark_jobs import SparkJobs

ROOT = Path(__file__).parents[2]


def driven(
    module: str, *arguments: str, directory: Path, within_s: float
) -> subprocess.CompletedProcess[str]:
    """On two cores: one writer may be held up in a task while another one writes."""
    jobs = SparkJobs(directory, "", None, "", "", tuple(delta_jars(print)))
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        env={**jobs.environment(cores=2), "PYTHONPATH": f"{ROOT}:{ROOT / 'sandbox'}"},
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        timeout=within_s,
    )


def printed(shown: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the JSON in the last line of a driver that has succeeded."""
    shown.check_returncode()
    found: dict[str, Any] = json.loads(shown.stdout.splitlines()[-1])
    return found
