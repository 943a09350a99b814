"""Many seeds over the cores, and what they reached in all."""

from __future__ import annotations

import gc
import logging
import multiprocessing
import os
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
    began = time.process_time()
    outcome = scene.run(seed)
    outcome.cpu_s = time.process_time() - began
    if outcome.violation is None:
        outcome.story.clear()
    return outcome, coverage.counts.copy()


def run_many(first: int, seeds: int, cores: int) -> int:
    began = time.monotonic()
    total: Counter[str] = Counter()
    shapes: list[dict[str, int]] = []
    failed: list[scene.Outcome] = []
    cpu_s = 0.0
    with multiprocessing.get_context("spawn").Pool(cores, quiet) as pool:
        every = pool.imap_unordered(run_one, range(first, first + seeds), chunksize=8)
        for outcome, reached in every:
            total.update(outcome.counts)
            total.update(reached)
            shapes.append(outcome.shape)
            cpu_s += outcome.cpu_s
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
        f"{time.monotonic() - began:.1f} s on {cores} cores, "
        f"{1000 * cpu_s / seeds:.0f} ms of a core for each"
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


def quiet() -> None:
    """In each process that runs scenes. A scene is one large ring of objects that lives until its
    end: looking for garbage in it meanwhile finds nothing, again and again. Of its threads only one
    runs at a time: on one core a switch between them costs a third less than across two.
    """
    logging.disable(logging.CRITICAL)
    if identity := multiprocessing.current_process()._identity:
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[identity[0] % len(cores)]})
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
