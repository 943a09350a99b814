"""Each planted bug is found by the seed that found it first; without the bug that seed is quiet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.find_planted import CRASHED, RECORD
from tests.sim.planted import BUGS

ROOT = Path(__file__).resolve().parents[2]
SEEDS = json.loads(RECORD.read_text())
RUN = """
import json, logging
from tests.sim import scene
from tests.sim.find_planted import RECORD
from tests.sim.planted import planted
logging.disable(logging.CRITICAL)
seeds = json.loads(RECORD.read_text())
found = {}
for bug, seed in seeds.items():
    with planted(bug):
        found[bug] = scene.run(seed).violation
quiet = {seed: scene.run(seed).violation for seed in set(seeds.values())}
print(json.dumps([found, quiet]))
"""
Violations = dict[str, str | None]


@pytest.fixture(scope="module")
def runs() -> tuple[Violations, Violations]:
    """In a process of its own: a seed means the same story only under one order of sets."""
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        text=True,
        timeout=280,
        check=True,
    )
    found, quiet = json.loads(done.stdout)
    return found, quiet


def test_every_planted_bug_has_a_seed_that_found_it() -> None:
    assert SEEDS.keys() == BUGS.keys()
    assert len(BUGS) >= 12


@pytest.mark.parametrize("bug", BUGS)
def test_a_planted_bug_is_found(runs: tuple[Violations, Violations], bug: str) -> None:
    violation = runs[0][bug]
    assert violation
    assert CRASHED not in violation


@pytest.mark.parametrize("seed", sorted(set(SEEDS.values())))
def test_the_same_seed_is_quiet_without_it(runs: tuple[Violations, Violations], seed: int) -> None:
    assert runs[1][str(seed)] is None
