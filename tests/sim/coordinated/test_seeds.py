"""A share of the seeds every day, and the promise that a seed always tells the same story."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def sim(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.sim.coordinated", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def test_sixty_seeds_keep_every_promise() -> None:
    result = sim("--seeds", "60")
    assert result.returncode == 0, result.stdout[-20_000:] + result.stderr[-5_000:]


@pytest.mark.long
def test_six_hundred_seeds_keep_every_promise() -> None:
    result = sim("--first", "60", "--seeds", "600")
    assert result.returncode == 0, result.stdout[-20_000:] + result.stderr[-5_000:]


def test_a_seed_tells_the_same_story_every_time() -> None:
    first, second = sim("--seed", "7", "--requests"), sim("--seed", "7", "--requests")
    assert first.returncode == 0, first.stdout[-20_000:] + first.stderr[-5_000:]
    assert first.stdout.count("\n") > 100
    assert first.stdout == second.stdout
