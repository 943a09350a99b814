"""Which functions of the product each cheap test runs, and for how long.

    python -m tests.mutants.reach OUT PATH ...

Runs in a separate tree. Of a mutant only those tests run that execute its function.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants.mutations import Mutant

CHEAP = "not long and not spark and not interop"
# Longer than its tests take with the recording: nothing that runs a function is to be left out
# but for what would take minutes.
_TESTS_S_MAX = 300.0
_GENERATED = "<string>"


@dataclass(frozen=True)
class Reached:
    """`functions` by module: the first lines of those that the test has run."""

    test: str
    took_s: float
    functions: Mapping[str, Sequence[int]]


@dataclass
class Recorder:
    package: str
    found: list[dict[str, Any]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    _codes: set[CodeType] = field(default_factory=set)
    _made: set[type] = field(default_factory=set)

    def note(self, frame: FrameType, _event: str, _arg: object) -> None:
        """Of each call of a Python function; what it does inside is not traced."""
        code = frame.f_code
        self._codes.add(code)
        if code.co_filename == _GENERATED:
            # The __init__ of a dataclass, with defaults from the module of the class.
            self._made.add(type(frame.f_locals.get("self")))

    def functions(self) -> dict[str, list[int]]:
        """By file; 0 is the module itself."""
        found: dict[str, list[int]] = {}
        for code in list(self._codes):
            if code.co_filename.startswith(self.package):
                found.setdefault(code.co_filename, []).append(code.co_firstlineno)
        for module in {made.__module__ for made in list(self._made)}:
            name = getattr(sys.modules.get(module), "__file__", None) or ""
            if name.startswith(self.package):
                found.setdefault(name, []).append(0)
        return found

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._codes, self._made = set(), set()
        began = time.monotonic()
        threading.settrace(self.note)
        sys.settrace(self.note)
        try:
            yield
        finally:
            sys.settrace(None)
            threading.settrace(None)
        took_s = time.monotonic() - began
        self.found.append({"test": item.nodeid, "took_s": took_s, "functions": self.functions()})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


def main(out: str, *paths: str) -> int:
    root = Path.cwd()
    recorder = Recorder(f"{root}/pyspark_zkgroup/")
    pytest.main(["-q", "-p", "no:cacheprovider", "-m", CHEAP, *paths], plugins=[recorder])
    told = [
        {**one, "functions": {str(Path(f).relative_to(root)): n for f, n in functions.items()}}
        for one in recorder.found
        if one["test"] not in recorder.failed and (functions := one["functions"])
    ]
    found = {"passed": told, "failed": recorder.failed}
    Path(out).write_text(json.dumps(found), encoding="utf-8")
    return 0


def read(path: Path) -> tuple[list[Reached], list[str]]:
    """What passed, and the names of what did not."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return [Reached(**one) for one in found["passed"]], found["failed"]


def asked_of(mutant: Mutant, reached: Sequence[Reached]) -> list[Reached]:
    """The quickest first. For code outside of functions: all tests that execute its module."""
    running = [
        one
        for one in reached
        if (functions := one.functions.get(mutant.module)) is not None
        and (not mutant.function or mutant.function in functions)
    ]
    found: list[Reached] = []
    left_s = _TESTS_S_MAX
    for one in sorted(running, key=lambda one: one.took_s):
        left_s -= one.took_s
        if left_s < 0.0 and found:
            break
        found.append(one)
    return found


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
