"""Each planted bug is found by the seed that found it first; without the bug that seed is quiet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sim.find_planted import CRASHED
from tests.sim.kinds import KINDS, Kind
from tests.sim.program import find_planted

ROOT = Path(__file__).resolve().parents[2]
KIND = KINDS["zookeeper"]
SEEDS = json.loads(KIND.record.read_text())
RUN = """
import json, logging
from tests.sim.kinds import KINDS
logging.disable(logging.CRITICAL)
kind = KINDS["zookeeper"]
seeds = json.loads(kind.record.read_text())
found = {}
for bug, seed in seeds.items():
    with kind.planted(bug):
        found[bug] = kind.run(seed).violation
quiet = {seed: kind.run(seed).violation for seed in set(seeds.values())}
print(json.dumps([found, quiet]))
"""
Violations = dict[str, str | None]


@pytest.fixture(scope="module")
def runs() -> tuple[Violations, Violations]:
    """In a separate process: a seed gives the same story only under one order of sets."""
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


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_every_planted_bug_has_a_seed_that_found_it(kind: Kind) -> None:
    assert json.loads(kind.record.read_text()).keys() == kind.bugs.keys()
    assert len(kind.bugs) >= 12


@pytest.mark.parametrize("bug", KIND.bugs)
def test_a_planted_bug_is_found(runs: tuple[Violations, Violations], bug: str) -> None:
    violation = runs[0][bug]
    assert violation
    assert CRASHED not in violation


@pytest.mark.parametrize("seed", sorted(set(SEEDS.values())))
def test_the_same_seed_is_quiet_without_it(runs: tuple[Violations, Violations], seed: int) -> None:
    assert runs[1][str(seed)] is None


def test_bugs_of_coordinated_groups_that_show_in_nearly_every_scene_are_found() -> None:
    """Which seed finds one changes with the product, and most scenes are long."""
    shown = (
        "start before the stop is answered",
        "elected, whichever candidate is",
        "channels of the dead stay",
    )
    find_planted("--protocol", "coordinator", "--seeds", "8", "--cores", "1", *shown)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_bugs_of_coordinated_groups_are_found() -> None:
    find_planted("--protocol", "coordinator", "--seeds", "2000")


def test_bugs_of_brokered_groups_that_show_soon_are_found() -> None:
    shown = ("commit what is planned", "continue from memory", "give out what is owned")
    find_planted("--protocol", "kafka", "--seeds", "16", "--cores", "1", *shown)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_bugs_of_brokered_groups_are_found() -> None:
    find_planted("--protocol", "kafka", "--seeds", "2000")


def test_bugs_of_light_members_that_show_in_nearly_every_scene_are_found() -> None:
    shown = ("lives are forgotten", "half the timeout", "stopped before the release")
    find_planted("--protocol", "light", "--seeds", "8", "--cores", "1", *shown)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_all_bugs_of_light_members_are_found() -> None:
    find_planted("--protocol", "light", "--seeds", "2000")
