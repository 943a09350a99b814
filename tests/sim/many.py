"""Many seeds over the cores, and what they reached in all."""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import time
from collections import Counter

from tests.sim import coverage, scene
from tests.sim.faults import FAULTS

# From so many seeds on, something that was never reached is a failure; what takes several faults in
# one scene, from many more.
_COVERED_FROM = 300
_RARE_FROM = 3000
_SHOWN_MAX = 5


def run_one(seed: int) -> tuple[scene.Outcome, Counter[str]]:
    coverage.watch()
    coverage.counts.clear()
    outcome = scene.run(seed)
    if outcome.violation is None:
        outcome.story.clear()
    return outcome, coverage.counts.copy()


def run_many(first: int, seeds: int, cores: int) -> int:
    began = time.monotonic()
    total: Counter[str] = Counter()
    shapes: list[dict[str, int]] = []
    failed: list[scene.Outcome] = []
    with multiprocessing.get_context("spawn").Pool(cores, _quiet) as pool:
        every = pool.imap_unordered(run_one, range(first, first + seeds), chunksize=8)
        for outcome, reached in every:
            total.update(outcome.counts)
            total.update(reached)
            shapes.append(outcome.shape)
            if outcome.violation:
                failed.append(outcome)
                _show(outcome, len(failed))
    for name, count in sorted(total.items()):
        print(f"{count:10}  {name}")
    medians = {name: statistics.median(s[name] for s in shapes) for name in shapes[0]}
    print("median seed: " + ", ".join(f"{int(n)} {name}" for name, n in medians.items()))
    missing = _missing(total, seeds)
    if missing:
        print("never reached: " + "; ".join(missing))
    print(
        f"{seeds} seeds from {first}, {len(failed)} with a violation, in "
        f"{time.monotonic() - began:.1f} s on {cores} cores"
    )
    return 1 if failed or missing else 0


def _show(outcome: scene.Outcome, place: int) -> None:
    if place <= _SHOWN_MAX:
        print(scene.story(outcome))
    else:
        print(f"seed {outcome.seed}: {outcome.violation}")
    print(f"    to see it again: make sim SEED={outcome.seed}", flush=True)


def _missing(total: Counter[str], seeds: int) -> list[str]:
    if seeds < _COVERED_FROM:
        return []
    faults = [f"fault: {name}" for name in FAULTS if not total[f"fault: {name}"]]
    return faults + coverage.missing(total, rare=seeds >= _RARE_FROM)


def _quiet() -> None:
    logging.disable(logging.CRITICAL)
