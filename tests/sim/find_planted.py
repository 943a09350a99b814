"""Looks for a seed that finds each planted bug: `make sim-planted`.

    PYTHONHASHSEED=0 python -m tests.sim.find_planted [--protocol P] [--seeds N] [NAME ...]

The seed that found it before is tried first, then all of them in their order. Ends with status 1 if
one is not found. `--record` keeps the seeds, which the daily tests replay.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tests.sim import planted_logs, wired_faults
from tests.sim.kinds import KINDS
from tests.sim.many import quiet

SEEDS = 2000
CRASHED = " ended with "


@dataclass(frozen=True)
class Found:
    bug: str
    seed: int | None
    violation: str
    seconds: float


def look_for(protocol: str, seeds: int, recorded: Mapping[str, int], bug: str) -> Found:
    began = time.monotonic()
    kind = KINDS[protocol]
    before = [recorded[bug]] if bug in recorded else []
    with kind.planted(bug):
        for seed in filter(_shows(bug), dict.fromkeys((*before, *range(seeds)))):
            violation = kind.run(seed).violation
            gc.collect()
            if violation is not None:
                # Planted code that does not fit the product any more is no find.
                found = None if CRASHED in violation else seed
                return Found(bug, found, violation, time.monotonic() - began)
    return Found(bug, None, "", time.monotonic() - began)


def _shows(bug: str) -> Callable[[int], bool] | None:
    """Bugs in requests to the brokers show only where these are sent."""
    return wired_faults.is_drawn if bug in planted_logs.ON_THE_WIRE else None


def main() -> int:
    given = _arguments()
    kind = KINDS[given.protocol]
    bugs = [b for b in kind.bugs if not given.names or any(name in b for name in given.names)]
    recorded = json.loads(kind.record.read_text()) if kind.record.exists() else {}
    missed = 0
    with multiprocessing.get_context("spawn").Pool(given.cores, quiet) as pool:
        look = functools.partial(look_for, given.protocol, given.seeds, dict(recorded))
        for found in pool.imap_unordered(look, bugs):
            if found.seed is None:
                missed += 1
                why = found.violation or f"in {given.seeds} seeds"
                print(f"NOT FOUND   {found.bug}: {why}, {found.seconds:.0f} s", flush=True)
                continue
            recorded[found.bug] = found.seed
            print(f"seed {found.seed:6d} {found.bug}: {found.violation[:120]}", flush=True)
    print(f"{len(bugs) - missed} of {len(bugs)} planted bugs found")
    if given.record:
        kept = {bug: recorded[bug] for bug in kind.bugs if bug in recorded}
        kind.record.write_text(json.dumps(kept, indent=1) + "\n")
    return 1 if missed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--protocol", choices=KINDS, default="zookeeper")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--record", action="store_true")
    parser.add_argument("names", nargs="*", help="parts of the bugs' names; all without any")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
