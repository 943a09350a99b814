"""Planted bugs are found. Which seed finds one changes with the product; planted.json keeps those
that were first when it was recorded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.coordinated.find_planted import RECORD
from tests.sim.coordinated.planted import BUGS

ROOT = Path(__file__).resolve().parents[3]
# Those that show in nearly every scene.
DAILY = ("start before the stop is answered", "elected, whoever is", "channels of the dead stay")


def find(*arguments: str) -> subprocess.CompletedProcess[str]:
    """In a process of its own: a seed means the same story only under one order of sets."""
    return subprocess.run(
        [sys.executable, "-m", "tests.sim.coordinated.find_planted", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_planted_bug_has_been_found() -> None:
    assert json.loads(RECORD.read_text()).keys() == BUGS.keys()
    assert len(BUGS) >= 10


def test_bugs_that_show_at_once_are_found() -> None:
    result = find("--seeds", "8", "--cores", "1", *DAILY)
    assert result.returncode == 0, result.stdout


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_all_planted_bugs_are_found() -> None:
    result = find("--seeds", "400")
    assert result.returncode == 0, result.stdout
