"""Mechanical mutations of what decides, and which of them no test notices: `make mutants`.

    python -m tests.mutants.run [--sample 600] [--seed 7] [--cores 2] [MODULE ...]

The sample is spread over the modules. Mutants that change nothing anybody can see are listed in
equivalent.json with the reason. Ends with status 1 if fewer than 90 % of the others are killed.
What came out is in build/mutants.json.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from tests.mutants.judge import Verdict, copied, judged
from tests.mutants.mutations import Mutant, mutants_of

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.json")
RESULT = ROOT / "build" / "mutants.json"
MODULES = (
    "pyspark_zkgroup/planner.py",
    "pyspark_zkgroup/plan.py",
    "pyspark_zkgroup/batch_size.py",
    "pyspark_zkgroup/log_watch.py",
    "pyspark_zkgroup/fixed_ends.py",
    "pyspark_zkgroup/silence.py",
    "pyspark_zkgroup/group/**/*.py",
    "pyspark_zkgroup/membership/*.py",
)
KILLED_SHARE_MIN = 0.9
_trees: dict[str, Path] = {}


def main() -> int:
    given = _arguments()
    began = time.monotonic()
    equivalent = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    sample = sampled(modules(given.modules), given.sample, given.seed)
    sample = [mutant for mutant in sample if str(mutant) not in equivalent]
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as directory:
        context = multiprocessing.get_context("spawn")
        with context.Pool(given.cores, _make_tree, (directory,)) as pool:
            for verdict in pool.imap_unordered(_judge, sample):
                verdicts.append(verdict)
                if not verdict.killed_by:
                    print(f"lives: {verdict.mutant}", flush=True)
    killed = sum(bool(v.killed_by) for v in verdicts)
    took_min = (time.monotonic() - began) / 60
    print(
        f"{killed} of {len(verdicts)} mutants killed, in {took_min:.0f} min on {given.cores} cores"
    )
    RESULT.parent.mkdir(exist_ok=True)
    told = {str(v.mutant): v.killed_by for v in verdicts}
    RESULT.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if killed >= KILLED_SHARE_MIN * len(verdicts) else 1


def modules(names: list[str]) -> list[str]:
    found = sorted({p for pattern in MODULES for p in ROOT.glob(pattern)})
    relative = [str(path.relative_to(ROOT)) for path in found]
    return [m for m in relative if not names or any(name in m for name in names)]


def sampled(of: list[str], size: int, seed: int) -> list[Mutant]:
    """So many, drawn from each module by its share, at least one of each that has any."""
    every = {module: mutants_of(ROOT, module) for module in of}
    total = sum(map(len, every.values()))
    found: list[Mutant] = []
    for module, mutants in every.items():
        share = min(len(mutants), max(1, round(size * len(mutants) / total))) if mutants else 0
        found += Random(f"{seed} {module}").sample(mutants, share)
    Random(seed).shuffle(found)
    return found


def _make_tree(directory: str) -> None:
    _trees["own"] = copied(ROOT, Path(directory) / str(os.getpid()))


def _judge(mutant: Mutant) -> Verdict:
    return judged(_trees["own"], mutant)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("modules", nargs="*", help="parts of the modules' paths; all without any")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
