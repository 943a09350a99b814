"""Many seeds of coordinated groups over the cores, and what they reached in all."""

from __future__ import annotations

import logging
import multiprocessing
import statistics
import time
from collections import Counter

from tests.sim.coordinated import scene
from tests.sim.coordinated.coordinator_faults import FAULTS
from tests.sim.scene import Outcome

# From so many seeds on, something that was never reached is a failure.
_COVERED_FROM = 300
_SHOWN_MAX = 5
EXPECTED = (
    *("election", "term", "stop", "start", "stopped", "start of one out of office"),
    *("replay", "refused beside others", *(f"fault: {name}" for name in FAULTS)),
)


def run_one(seed: int) -> Outcome:
    outcome = scene.run(seed)
    if outcome.violation is None:
        outcome.story.clear()
    return outcome


def run_many(first: int, seeds: int, cores: int) -> int:
    began = time.monotonic()
    total: Counter[str] = Counter()
    shapes: list[dict[str, int]] = []
    failed = 0
    with multiprocessing.get_context("spawn").Pool(cores, _quiet) as pool:
        for outcome in pool.imap_unordered(run_one, range(first, first + seeds), chunksize=4):
            total.update(outcome.counts)
            shapes.append(outcome.shape)
            if outcome.violation:
                failed += 1
                if failed <= _SHOWN_MAX:
                    print(scene.story(outcome))
                else:
                    print(f"seed {outcome.seed}: {outcome.violation}")
                print(f"    to see it again: make sim PROTOCOL=coordinator SEED={outcome.seed}")
    for name, count in sorted(total.items()):
        print(f"{count:10}  {name}")
    medians = {name: statistics.median(s[name] for s in shapes) for name in shapes[0]}
    print("median seed: " + ", ".join(f"{int(n)} {name}" for name, n in medians.items()))
    missing = [name for name in EXPECTED if not total[name]] if seeds >= _COVERED_FROM else []
    if missing:
        print("never reached: " + "; ".join(missing))
    print(
        f"{seeds} seeds from {first}, {failed} with a violation, in "
        f"{time.monotonic() - began:.1f} s on {cores} cores"
    )
    return 1 if failed or missing else 0


def _quiet() -> None:
    logging.disable(logging.CRITICAL)
