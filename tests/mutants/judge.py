"""Whether a test notices a mutant: the quick tests that run its function, the simulations, and the
slow tests.
"""

from __future__ import annotations

import compileall
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from py_compile import PycInvalidationMode

from tests.mutants.mutations import Mutant, applied
from tests.mutants.reach import CHEAP, Reached

_KEPT_OUT = shutil.ignore_patterns(
    ".venv", ".git", "build", "dist", "__pycache__", ".*_cache", "notebooks", "target"
)
_SEEDS = {"zookeeper": 60, "coordinator": 40, "light": 20, "kafka": 50}
_SIMULATED_BY = {
    "protocols/kafka/": ("kafka",),
    "protocols/light/": ("light",),
    "protocols/coordinator/": ("coordinator", "light"),
    "protocols/owned/": ("zookeeper", "coordinator"),
    "protocols/zookeeper/": ("zookeeper",),
    "inspect/": (),
}
_SLOW_S = 2.0
# A mutant that does not end is stopped when its tests have taken several times as long as they take
# without it, recorded.
_START_CPU_S, _TIMES_AS_LONG = 20, 3
_SIMULATION_CPU_S = 150
# What waits without end uses no processor time. On a busy machine other work takes most of it.
_WALL_S_PER_CPU_S = 4


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    killed_by: str
    """Empty if it lives."""


def copied(root: Path, to: Path) -> Path:
    """Copy the tree, so that modules can be changed.

    They are compiled once, each bound to the hash of its source: by its size and its second, which
    Python looks at otherwise, a mutant may be what it replaces.
    """
    shutil.copytree(root, to, ignore=_KEPT_OUT)
    compileall.compile_dir(to, quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    return to


def judged(tree: Path, mutant: Mutant, tests: Sequence[Reached]) -> Verdict:
    own, quick, slow = stages(mutant.module, tests)
    with applied(tree, mutant):
        killed_by = (
            _failed(tree, own)
            or _failed(tree, quick)
            or _failed_simulation(tree, mutant.module)
            or _failed(tree, slow)
        )
    return Verdict(mutant, killed_by)


def stages(
    module: str, tests: Sequence[Reached]
) -> tuple[list[Reached], list[Reached], list[Reached]]:
    """The module's own tests first: most mutants fail there, and to collect all others takes longer
    than to run these. Many more fail in a simulation, which takes less time than the slowest tests.
    """
    name = f"/test_{Path(module).stem}.py"
    own = [one for one in tests if name in one.test]
    others = [one for one in tests if name not in one.test]
    quick = [one for one in others if one.took_s < _SLOW_S]
    return own, quick, [one for one in others if one.took_s >= _SLOW_S]


def _failed(tree: Path, tests: Sequence[Reached]) -> str:
    if not tests:
        return ""
    pytest = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--hypothesis-profile=mutants"]
    cpu_s = _START_CPU_S + int(_TIMES_AS_LONG * sum(one.took_s for one in tests))
    said = failure(tree, [*pytest, "-m", CHEAP, *(one.test for one in tests)], cpu_s)
    return said and f"tests: {said}"


def _failed_simulation(tree: Path, module: str) -> str:
    for protocol in _protocols(module):
        if said := failure(tree, simulated(protocol), _SIMULATION_CPU_S):
            return f"simulation of {protocol}: {said}"
    return ""


def failure(tree: Path, arguments: Sequence[str], cpu_s: int) -> str:
    """Return the last line of what fails, "" if nothing does."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_WALL_S_PER_CPU_S * cpu_s,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s)),
        )
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "no end"
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    return "" if done.returncode == 0 else next(reversed(lines), "no word")


def _protocols(module: str) -> tuple[str, ...]:
    for mark, protocols in _SIMULATED_BY.items():
        if mark in module:
            return protocols
    return ("zookeeper", "kafka", "light")


def simulated(protocol: str) -> list[str]:
    seeds = str(_SEEDS[protocol])
    return ["-m", "tests.sim", "--protocol", protocol, "--seeds", seeds, "--cores", "1"]
