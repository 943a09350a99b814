"""Run many seeds over the cores, or tell the story of one.

python -m tests.sim [--protocol P] --seeds 300 [--first N] [--cores N]
python -m tests.sim [--protocol P] --seed 17 [--requests]
"""

from __future__ import annotations

import argparse
import logging
import os
import sys

from tests.sim.kinds import KINDS
from tests.sim.many import run_many
from tests.sim.outcome import story


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--protocol", choices=KINDS, default="zookeeper")
    parser.add_argument("--seeds", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--requests", action="store_true", help="the story tells each request")
    asked = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The order of sets of texts is part of what a seed decides.
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.sim", *sys.argv[1:]])
    logging.disable(logging.CRITICAL)
    if asked.seed is not None:
        outcome = KINDS[asked.protocol].run(asked.seed, traced=asked.requests)
        print(story(outcome))
        return 1 if outcome.violation else 0
    return run_many(asked.protocol, asked.first, asked.seeds, asked.cores)


if __name__ == "__main__":
    sys.exit(main())
