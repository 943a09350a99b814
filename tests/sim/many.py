"""Runs many seeds over the cores, and counts what they reached in all."""

from __future__ import annotations

import functools
import gc
import logging
import multiprocessing
import os
import statistics
import time
from collections import Counter

from tests.sim import coverage
from tests.sim.kinds import KINDS
from tests.sim.outcome import Outcome, story

# From so many seeds on, something that was never reached is a failure; what takes several faults in
# one scene, from many more.
_COVERED_FROM = 300
_RARE_FROM = 3000
_SHOWN_MAX = 5


def run_one(protocol: str, seed: int) -> tuple[Outcome, Counter[str]]:
    coverage.watch()
    coverage.counts.clear()
    began = time.process_time()
    outcome = KINDS[protocol].run(seed)
    if outcome.violation is None:
        outcome.story.clear()
    gc.collect()
    outcome.cpu_s = time.process_time() - began
    return outcome, coverage.counts.copy()


def run_many(protocol: str, first: int, seeds: int, cores: int) -> int:
    began = time.monotonic()
    total: Counter[str] = Counter()
    shapes: list[dict[str, int]] = []
    failed = 0
    cpu_s = 0.0
    with multiprocessing.get_context("spawn").Pool(cores, quiet) as pool:
        run = functools.partial(run_one, protocol)
        for outcome, reached in pool.imap_unordered(run, range(first, first + seeds), chunksize=8):
            total.update(outcome.counts)
            total.update(reached)
            shapes.append(outcome.shape)
            cpu_s += outcome.cpu_s
            if outcome.violation:
                failed += 1
                _show(protocol, outcome, failed)
    for name, count in sorted(total.items()):
        print(f"{count:10}  {name}")
    medians = {name: statistics.median(s[name] for s in shapes) for name in shapes[0]}
    print("median seed: " + ", ".join(f"{int(n)} {name}" for name, n in medians.items()))
    missing = _missing(protocol, total, seeds)
    if missing:
        print("never reached: " + "; ".join(missing))
    print(
        f"{seeds} seeds from {first}, {failed} with a violation, in "
        f"{time.monotonic() - began:.1f} s on {cores} cores, "
        f"{1000 * cpu_s / seeds:.0f} ms of a core for each"
    )
    return 1 if failed or missing else 0


def _show(protocol: str, outcome: Outcome, place: int) -> None:
    if place <= _SHOWN_MAX:
        print(story(outcome))
    else:
        print(f"seed {outcome.seed}: {outcome.violation}")
    again = f"make sim PROTOCOL={protocol} SEED={outcome.seed}"
    print(f"    to see it again: {again}", flush=True)


def _missing(protocol: str, total: Counter[str], seeds: int) -> list[str]:
    if seeds < _COVERED_FROM:
        return []
    kind = KINDS[protocol]
    faults = [f"fault: {name}" for name in kind.faults if not total[f"fault: {name}"]]
    return faults + kind.missing(total, seeds >= _RARE_FROM)


def quiet() -> None:
    """Prepare each process that runs scenes. A scene is one large ring of objects that lives until
    its end: garbage collection meanwhile finds nothing, so it runs after each scene.

    Of its threads only one runs at a time: on one core a switch between them costs a third less
    than across two.
    """
    logging.disable(logging.CRITICAL)
    if identity := multiprocessing.current_process()._identity:
        cores = sorted(os.sched_getaffinity(0))
        # Two runs of one worker each must not share a core.
        os.sched_setaffinity(0, {cores[(os.getppid() + identity[0]) % len(cores)]})
    gc.freeze()
    gc.disable()
