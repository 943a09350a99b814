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

from tests.exercise.cast import PROJECT
from tests.exercise.draw import BROKERED_VARIANTS, KINDS, VARIANTS, draw
from tests.harness.waiting import wait_until

SEEDS = {"zookeeper": (4, 13, 37), "kafka": (12, 13, 31)}
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
BROKERED_SHOWN: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(BROKERED_VARIANTS["member without partitions"], frozenset({"ZKG-209"})),
    **dict.fromkeys(BROKERED_VARIANTS["lagging partition"], frozenset({"ZKG-214"})),
    "beyond the end": frozenset({"ZKG-213", "ZKG-011"}),
    "by retention": frozenset({"ZKG-212"}),
    **dict.fromkeys(BROKERED_VARIANTS["rebalance storm"], frozenset({"ZKG-217"})),
    "refused": frozenset({"ZKG-002"}),
    "eager in all": frozenset({"ZKG-216"}),
    **dict.fromkeys(BROKERED_VARIANTS["classic members"], frozenset({"ZKG-219"})),
}
ALL_SHOWN = {"zookeeper": SHOWN, "kafka": BROKERED_SHOWN}
_CASE = re.compile(r"case (\d+): group (\S+), (?:ZooKeeper (\S+), )?brokers (\S+), logs (\S+)")


@pytest.mark.parametrize("kind", KINDS)
def test_the_seeds_draw_everything(kind: str) -> None:
    drawn = {case.variant for seed in SEEDS[kind] for case in draw(seed, kind)}
    assert drawn == set(ALL_SHOWN[kind])


@contextmanager
def exercise(
    kind: str, seed: int, directory: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    printed = directory / "printed"
    arguments = ["--protocol", kind, "--seed", str(seed), "--directory", str(directory / "all")]
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
    place = {"ZKGROUP_ZOOKEEPER": case[3]} if case[3] else {"ZKGROUP_BOOTSTRAP_SERVERS": case[4]}
    watch = () if case[3] else ("--watch-seconds", "10")
    done = subprocess.run(
        [Path(sys.executable).parent / "zkgroup", "doctor", case[2], "--json", *watch],
        env={**os.environ, **place},
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
@pytest.mark.parametrize(("kind", "seed"), [(k, seed) for k in SEEDS for seed in SEEDS[k]])
def test_each_fault_shows_where_an_operator_looks(kind: str, seed: int, tmp_path: Path) -> None:
    with exercise(kind, seed, tmp_path) as (running, printed):
        wait_until(
            lambda: "all are set" in printed.read_text() or running.poll() is not None,
            SET_S,
            "all to be set",
            interval_s=0.5,
        )
        text = printed.read_text()
        assert "all are set" in text
        assert not [v for fault, vs in KINDS[kind].items() for v in (fault, *vs) if v in text]
        cases = list(_CASE.finditer(text))
        assert [int(case[1]) for case in cases] == [1, 2, 3, 4, 5, 6]
        for case, drawn in zip(cases, draw(seed, kind), strict=True):
            assert case[2] == drawn.group

            def shows(case: re.Match[str] = case, wanted: str = drawn.variant) -> bool:
                codes = found(case)
                assert ALL_SHOWN[kind][wanted] <= codes, f"{wanted}: {sorted(codes)}"
                return True

            wait_until(shows, 120, f"case {drawn.number} to show", interval_s=1.0)
        key = json.loads((tmp_path / "all.key.json").read_text())
        assert [case["variant"] for case in key["cases"].values()] == [
            c.variant for c in draw(seed, kind)
        ]
        running.send_signal(signal.SIGTERM)
        assert running.wait(120) == 0
    shown = subprocess.run(
        ["ps", "-ww", "-A", "-o", "command="], capture_output=True, text=True, check=True
    )
    assert not [line for line in shown.stdout.splitlines() if str(tmp_path) in line]
