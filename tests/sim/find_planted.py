"""Looks for the first seed that finds each planted bug: `make sim-planted`.

    PYTHONHASHSEED=0 python -m tests.sim.find_planted [--seeds N] [--record] [NAME ...]

Ends with status 1 if one is not found. `--record` keeps the seeds, which the daily tests replay.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.sim import scene
from tests.sim.many import quiet
from tests.sim.planted import BUGS, planted

RECORD = Path(__file__).with_name("planted.json")
SEEDS = 2000
CRASHED = " ended with "


@dataclass(frozen=True)
class Found:
    bug: str
    seed: int | None
    violation: str
    seconds: float


def look_for(task: tuple[str, int]) -> Found:
    bug, seeds = task
    quiet()
    began = time.monotonic()
    with planted(bug):
        for seed in range(seeds):
            violation = scene.run(seed).violation
            if violation is not None and CRASHED in violation:
                # The planted code does not fit the product any more: that is no find.
                return Found(bug, None, violation, time.monotonic() - began)
            if violation is not None:
                return Found(bug, seed, violation, time.monotonic() - began)
    return Found(bug, None, "", time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", help="parts of the bugs' names; all without any")
    given = parser.parse_args()
    bugs = [b for b in BUGS if not given.names or any(name in b for name in given.names)]
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    missed = 0
    context = multiprocessing.get_context("spawn")
    with context.Pool(os.cpu_count() or 1) as pool:
        tasks = [(bug, given.seeds) for bug in bugs]
        for found in pool.imap_unordered(look_for, tasks):
            if found.seed is None:
                missed += 1
                why = found.violation or f"in {given.seeds} seeds"
                print(f"NOT FOUND   {found.bug}: {why}, {found.seconds:.0f} s", flush=True)
                continue
            recorded[found.bug] = found.seed
            print(f"seed {found.seed:6d} {found.bug}: {found.violation[:120]}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs found")
    if given.record:
        kept = {bug: recorded[bug] for bug in BUGS if bug in recorded}
        RECORD.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
