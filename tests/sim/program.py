"""The simulation's commands, as tests run them: in a separate process, since a seed gives the same
story only under one order of sets.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_PATIENCE_S = 280.0


def sim(*arguments: str) -> str:
    """Return what it prints, once it has ended well."""
    return _run("tests.sim", *arguments)


def find_planted(*arguments: str) -> str:
    return _run("tests.sim.find_planted", *arguments, patience_s=1750.0)


def story(*arguments: str) -> str:
    """Return the story of one seed, run twice."""
    first, second = sim(*arguments, "--requests"), sim(*arguments, "--requests")
    assert first.count("\n") > 100
    assert first == second
    return first


def _run(module: str, *arguments: str, patience_s: float = _PATIENCE_S) -> str:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=_ROOT,
        env={**os.environ, "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        timeout=patience_s,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout
