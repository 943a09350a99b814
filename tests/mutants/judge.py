"""Whether a test notices a mutant: the cheapest ones are asked first."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.mutations import Mutant, applied

_KEPT_OUT = shutil.ignore_patterns(
    ".venv", ".git", "build", "dist", "__pycache__", ".*_cache", "docs", "notebooks", "target"
)
_SEEDS = {"zookeeper": 150, "coordinator": 60, "light": 25, "kafka": 100}
_OF_PROTOCOLS = (("kafka", ("kafka",)), ("light", ("light",)), ("coordinat", ("coordinator",)))
_FAKES = ("tests/contract/test_membership.py", "tests/contract/test_given_up.py")
_TRACES = ("test_traces.py", "test_checkers.py", "test_busy.py", "test_lost_nodes.py")
_TIMEOUT_S = 300.0


@dataclass(frozen=True)
class Verdict:
    mutant: Mutant
    killed_by: str
    """Empty if it lives."""


def copied(root: Path, to: Path) -> Path:
    """A tree of its own, in which modules may be changed."""
    shutil.copytree(root, to, ignore=_KEPT_OUT)
    (to / "docs").symlink_to(root / "docs")
    return to


def judged(tree: Path, mutant: Mutant) -> Verdict:
    with applied(tree, mutant):
        for stage, command in _stages(tree, mutant.module):
            if not _passes(tree, command):
                return Verdict(mutant, stage)
    return Verdict(mutant, "")


def _stages(tree: Path, module: str) -> list[tuple[str, list[str]]]:
    name = module.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    direct = _importing(tree, name)
    pytest = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", _CHEAP]
    traces = [
        str(p.relative_to(tree)) for t in _TRACES for p in sorted(tree.glob(f"tests/sim/**/{t}"))
    ]
    stages = [("its unit tests", [*pytest, *direct])] if direct else []
    stages += [
        ("the unit and property tests", [*pytest, "tests/unit", "tests/property", "tests/golden"]),
        ("the contract on fakes", [*pytest, *_FAKES, "-k", "fakes or given_up"]),
        ("the traces", [*pytest, *traces]),
    ]
    return stages + [(f"simulation of {p}", _simulated(p)) for p in _protocols(module)]


_CHEAP = "not long and not spark and not interop"


def _protocols(module: str) -> tuple[str, ...]:
    for mark, protocols in _OF_PROTOCOLS:
        if mark in module:
            return protocols
    return ("zookeeper", "kafka", "light")


def _simulated(protocol: str) -> list[str]:
    return [
        "-m",
        "tests.sim",
        "--protocol",
        protocol,
        "--seeds",
        str(_SEEDS[protocol]),
        "--cores",
        "1",
    ]


def _importing(tree: Path, name: str) -> list[str]:
    package, _, last = name.rpartition(".")
    imported = re.compile(
        rf"^(from {re.escape(name)} import|from {re.escape(package)} import .*\b{last}\b)",
        re.MULTILINE,
    )
    return [
        str(path.relative_to(tree))
        for folder in ("unit", "property", "golden")
        for path in sorted(tree.glob(f"tests/{folder}/**/test_*.py"))
        if imported.search(path.read_text(encoding="utf-8"))
    ]


def _passes(tree: Path, arguments: list[str]) -> bool:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
