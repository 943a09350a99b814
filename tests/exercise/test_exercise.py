"""The exercise as an operator is given it: nothing of what is printed tells, and all can be found.

The seeds draw all variants between them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.exercise.draw import VARIANTS, draw
from tests.exercise.scene import PROJECT
from tests.harness.waiting import wait_until

SEEDS = (4, 13, 37)
SET_S = 600.0
# Where each shows: in what `doctor` finds, or in a log.
SHOWN: Mapping[str, frozenset[str]] = {
    "node without a member": frozenset({"ZKG-201"}),
    "session of no member": frozenset({"ZKG-202"}),
    "member that hangs": frozenset({"ZKG-203"}),
    **dict.fromkeys(VARIANTS["member owning nothing"], frozenset({"ZKG-209"})),
    **dict.fromkeys(VARIANTS["lagging partition"], frozenset({"ZKG-214"})),
    "under its members": frozenset({"ZKG-211"}),
    "with their reader": frozenset({"ZKG-102"}),
    "by retention": frozenset({"ZKG-212"}),
    "the last one": frozenset({"ZKG-004"}),
    "the first one": frozenset({"ZKG-004"}),
    "after a pause": frozenset({"ZKG-206"}),
    **dict.fromkeys(VARIANTS["dead coordinator"], frozenset({"ZKG-207"})),
}
_CASE = re.compile(r"case (\d+): group (\S+), ZooKeeper (\S+), brokers (\S+), logs (\S+)")


def test_the_seeds_draw_everything() -> None:
    assert {case.variant for seed in SEEDS for case in draw(seed)} == set(SHOWN)


@contextmanager
def exercise(seed: int, directory: Path) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    printed = directory / "printed"
    arguments = ["--seed", str(seed), "--directory", str(directory / "all")]
    with printed.open("wb") as out:
        running = subprocess.Popen(
            [sys.executable, "-m", "tests.exercise", *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=PROJECT,
        )
    try:
        yield running, printed
    finally:
        if running.poll() is None:
            running.send_signal(signal.SIGTERM)
            running.wait(120)
        print(printed.read_text())


def found(case: re.Match[str]) -> set[str]:
    """The codes that `doctor` gives, and those of the logs."""
    done = subprocess.run(
        [Path(sys.executable).parent / "zkgroup", "doctor", "--group", case[2], "--json"],
        env={**os.environ, "ZKGROUP_ZOOKEEPER": case[3]},
        capture_output=True,
        check=False,
        timeout=120,
    )
    findings: list[dict[str, Any]] = json.loads(done.stdout)
    texts = [finding["text"] for finding in findings]
    assert all(finding["remedy"] for finding in findings if finding["text"].startswith("["))
    texts += [log.read_text() for log in Path(case[5]).glob("*.log")]
    return set(re.findall(r"\[(ZKG-\d+)\]", "\n".join(texts)))


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", SEEDS)
def test_each_fault_shows_where_an_operator_looks(seed: int, tmp_path: Path) -> None:
    with exercise(seed, tmp_path) as (running, printed):
        wait_until(
            lambda: "all are set" in printed.read_text() or running.poll() is not None,
            SET_S,
            "all to be set",
            interval_s=0.5,
        )
        text = printed.read_text()
        assert "all are set" in text
        assert not [v for fault, vs in VARIANTS.items() for v in (fault, *vs) if v in text]
        cases = list(_CASE.finditer(text))
        assert [int(case[1]) for case in cases] == [1, 2, 3, 4, 5, 6]
        for case, drawn in zip(cases, draw(seed), strict=True):
            assert case[2] == drawn.group

            def shows(case: re.Match[str] = case, wanted: str = drawn.variant) -> bool:
                codes = found(case)
                assert SHOWN[wanted] <= codes, f"{wanted}: {sorted(codes)}"
                return True

            wait_until(shows, 120, f"case {drawn.number} to show", interval_s=1.0)
        key = json.loads((tmp_path / "all.key.json").read_text())
        assert [case["variant"] for case in key["cases"].values()] == [
            c.variant for c in draw(seed)
        ]
        running.send_signal(signal.SIGTERM)
        assert running.wait(120) == 0
    shown = subprocess.run(
        ["ps", "-ww", "-A", "-o", "command="], capture_output=True, text=True, check=True
    )
    assert not [line for line in shown.stdout.splitlines() if str(tmp_path) in line]
