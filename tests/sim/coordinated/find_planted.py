"""Looks for the first seed that finds each planted bug: `make sim-planted PROTOCOL=coordinator`.

    PYTHONHASHSEED=0 python -m tests.sim.coordinated.find_planted [--seeds N] [--record] [NAME ...]

Ends with status 1 if one is not found. `--record` keeps the seeds, which the daily tests replay.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import sys
import time
from pathlib import Path

from tests.sim.coordinated import scene
from tests.sim.coordinated.planted import BUGS, parts, planted
from tests.sim.find_planted import SEEDS, Found

RECORD = Path(__file__).with_name("planted.json")


def look_for(task: tuple[str, int]) -> Found:
    bug, seeds = task
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    with planted(bug):
        for seed in range(seeds):
            violation = scene.run(seed).violation
            if violation is not None:
                return Found(bug, seed, violation, time.monotonic() - began)
    return Found(bug, None, "", time.monotonic() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", help="parts of the bugs' names; all without any")
    given = parser.parse_args()
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    tasks = [(bug, given.seeds) for bug in parts(given.names)]
    missed = 0
    with multiprocessing.get_context("spawn").Pool(given.cores) as pool:
        for found in pool.imap_unordered(look_for, tasks):
            if found.seed is None:
                missed += 1
                print(f"NOT FOUND   {found.bug}: in {given.seeds} seeds, {found.seconds:.0f} s")
                continue
            recorded[found.bug] = found.seed
            print(f"seed {found.seed:6d} {found.bug}: {found.violation[:120]}", flush=True)
    print(f"{len(tasks) - missed} of {len(tasks)} planted bugs found")
    if given.record:
        kept = {bug: recorded[bug] for bug in BUGS if bug in recorded}
        RECORD.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
