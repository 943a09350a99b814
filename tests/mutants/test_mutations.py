"""The changes are the same each time, leave a module that runs, and are taken back."""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

import pytest

from tests.mutants.judge import copied, failure, stages
from tests.mutants.mutations import applied, mutants_of
from tests.mutants.reach import Reached, Recorder, asked_of
from tests.mutants.run import EQUIVALENT, MODULES, ROOT, modules, sampled

TEXT = """
LIMIT = 5
def f(a: int, b: list[int]) -> int:
    if a < LIMIT and not b:
        raise ValueError(f"{a} < 5")
    _log.warning("%d is less than %d", a, 3)
    b.append(1)
    return min(x for x in b if x > a) + 1
"""


def test_decisions_are_changed_and_texts_are_not(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(TEXT)
    assert sorted((m.line, m.what) for m in mutants_of(tmp_path, "m.py")) == sorted(
        [
            (2, "5  ->  6"),
            (4, "a < LIMIT and (not b)  ->  not (a < LIMIT and (not b))"),
            (4, "a < LIMIT and (not b)  ->  a < LIMIT or not b"),
            (4, "a < LIMIT  ->  a <= LIMIT"),
            (7, "b.append(1)  ->  pass"),
            (7, "1  ->  2"),
            (8, "min((x for x in b if x > a)) + 1  ->  min((x for x in b if x > a)) - 1"),
            (8, "min  ->  max"),
            (8, "x > a  ->  not x > a"),
            (8, "x > a  ->  x >= a"),
            (8, "1  ->  2"),
        ]
    )


def test_each_change_alters_the_module_and_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(TEXT)
    seen = set()
    for mutant in mutants_of(tmp_path, "m.py"):
        with applied(tmp_path, mutant):
            seen.add(path.read_text())
            compile(path.read_text(), "m.py", "exec")
        assert path.read_text() == TEXT
    assert len(seen) == len(mutants_of(tmp_path, "m.py"))


def test_a_mutant_of_the_same_size_and_second_is_compiled_again(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "m.py").write_text("LIMIT = 5\n")
    tree = copied(tmp_path / "own", tmp_path / "copy")
    path = tree / "m.py"
    before = path.stat()
    asked = ["-c", "import m; assert m.LIMIT == 5, m.LIMIT"]
    assert failure(tree, asked, 60) == ""
    assert list((tree / "__pycache__").glob("m.*.pyc"))
    path.write_text("LIMIT = 6\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert failure(tree, asked, 60) == "AssertionError: 6"


def test_the_sample_is_spread_over_the_modules_and_repeated_by_its_seed() -> None:
    every = modules([])
    assert all(any(ROOT.joinpath(m) in ROOT.glob(p) for p in MODULES) for m in every)
    sample = sampled(every, 600, 7)
    assert sample == sampled(every, 600, 7) != sampled(every, 600, 8)
    with_mutants = {m for m in every if mutants_of(ROOT, m)}
    assert {mutant.module for mutant in sample} == with_mutants
    assert len(sample) >= 600


def test_a_mutant_is_shown_to_the_tests_that_run_its_function_the_quickest_first(
    tmp_path: Path,
) -> None:
    (tmp_path / "m.py").write_text(TEXT)
    reached = [
        Reached("slow", 5.0, {"m.py": [3]}),
        Reached("quick", 0.1, {"m.py": [3], "n.py": [1]}),
        Reached("of another function", 0.1, {"m.py": [9]}),
        Reached("of another module", 0.1, {"n.py": [3]}),
        Reached("endless", 1000.0, {"m.py": [3]}),
    ]
    inside = [m for m in mutants_of(tmp_path, "m.py") if m.line > 2]
    assert {m.function for m in inside} == {3}
    assert all([r.test for r in asked_of(m, reached)] == ["quick", "slow"] for m in inside)
    (of_the_module,) = [m for m in mutants_of(tmp_path, "m.py") if m.line == 2]
    asked = [one.test for one in asked_of(of_the_module, reached)]
    assert asked == ["quick", "of another function", "slow"]


def test_a_test_that_makes_a_dataclass_runs_its_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its defaults may be all that the module decides."""
    path = tmp_path / "made_of_defaults.py"
    path.write_text("from dataclasses import dataclass\n@dataclass\nclass D:\n    n: int = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("made_of_defaults")
    recorder = Recorder(f"{tmp_path}/")
    before = sys.gettrace()
    sys.settrace(recorder.note)
    module.D()
    sys.settrace(before)
    assert recorder.functions() == {str(path): [0]}


def test_the_name_of_a_mutant_is_its_own_and_outlives_changes_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(TEXT)
    names = [str(mutant) for mutant in mutants_of(tmp_path, "m.py")]
    assert len(set(names)) == len(names)
    assert "m.py f: min  ->  max" in names
    assert "m.py the module: 5  ->  6" in names

    path.write_text("FIRST = 1\n" + TEXT)
    assert set(names) < {str(mutant) for mutant in mutants_of(tmp_path, "m.py")}


def test_each_mutant_that_is_listed_as_equivalent_exists() -> None:
    listed = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    every = {str(mutant) for module in modules([]) for mutant in mutants_of(ROOT, module)}
    assert set(listed) <= every
    assert all(listed.values())


def test_the_tests_of_the_module_itself_run_first_and_the_slow_ones_last() -> None:
    module = "pyspark_zkgroup/planning/fixed_ends.py"
    own = [
        Reached("tests/unit/planning/test_fixed_ends.py::test_a", 0.1, {}),
        Reached("tests/x/test_fixed_ends.py::test_b", 30.0, {}),
    ]
    quick = Reached("tests/unit/planning/test_planner.py::test_c", 0.2, {})
    slow = Reached("tests/property/test_balance.py::test_d", 20.0, {})
    assert stages(module, [own[0], quick, slow, own[1]]) == (own, [quick], [slow])
    assert stages(module, []) == ([], [], [])


def test_a_mutant_without_end_is_stopped_when_its_tests_should_be_done(tmp_path: Path) -> None:
    assert failure(tmp_path, ["-c", "while True: pass"], 1) == "no end"
