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

from tests.mutants.judge import Verdict, copied, failure, judged, simulated
from tests.mutants.mutations import Mutant, mutants_of
from tests.mutants.reach import Reached, asked_of, read

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.json")
RESULT = ROOT / "build" / "mutants.json"
MODULES = (
    "pyspark_zkgroup/plan.py",
    "pyspark_zkgroup/group/*.py",
    "pyspark_zkgroup/jvm/*.py",
    "pyspark_zkgroup/ranges/*.py",
    "pyspark_zkgroup/inspect/**/*.py",
    "pyspark_zkgroup/planning/*.py",
    "pyspark_zkgroup/protocols/**/*.py",
)
KILLED_SHARE_MIN = 0.9
_CONTRACTS = ("tests/contract/test_membership.py", "tests/contract/test_given_up.py")
_TRACES = ("test_traces.py", "test_checkers.py", "test_busy.py", "test_lost_nodes.py")
_RECORDING_S_MAX = 3600.0
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
            reached = _recorded(pool.map(_record, enumerate(_recordings()), chunksize=1))
            asked = [(mutant, asked_of(mutant, reached)) for mutant in sample]
            for verdict in pool.imap_unordered(_judge, asked):
                verdicts.append(verdict)
                if not verdict.killed_by:
                    place = f"{len(verdicts)} of {len(sample)}"
                    print(f"{place} lives: {verdict.mutant}", flush=True)
    killed = [v for v in verdicts if v.killed_by]
    endless = sum(v.killed_by.endswith("no end") for v in killed)
    took_min = (time.monotonic() - began) / 60
    print(
        f"{len(killed)} of {len(verdicts)} mutants killed ({endless} of them had no end), in "
        f"{took_min:.0f} min on {given.cores} cores"
    )
    RESULT.parent.mkdir(exist_ok=True)
    told = {str(v.mutant): v.killed_by for v in verdicts}
    RESULT.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    return 0 if len(killed) >= KILLED_SHARE_MIN * len(verdicts) else 1


def _recordings() -> list[list[str]]:
    """What is run before anything is changed: paths of tests, or a simulation."""
    traces = [str(p.relative_to(ROOT)) for t in _TRACES for p in (ROOT / "tests/sim").rglob(t)]
    simulations = [simulated(p) for p in ("zookeeper", "kafka", "light", "coordinator")]
    on_fakes = [*_CONTRACTS, "-k", "fakes or given_up"]
    return [
        ["tests/unit", "tests/golden"],
        sorted(traces),
        on_fakes,
        ["tests/property"],
        *simulations,
    ]


def _record(asked: tuple[int, list[str]]) -> tuple[Path | None, str]:
    """Where the record is; and what failed without any change."""
    number, command = asked
    tree = _trees["own"]
    if command[0] == "-m":
        return None, failure(tree, command, _RECORDING_S_MAX)
    out = tree.parent / f"reached-{number}.json"
    command = ["-m", "tests.mutants.reach", str(out), *command]
    return out, failure(tree, command, _RECORDING_S_MAX)


def _recorded(found: list[tuple[Path | None, str]]) -> list[Reached]:
    """A test that fails without any change tells nothing; a simulation must not."""
    reached: list[Reached] = []
    for path, failed in found:
        if failed:
            sys.exit(f"without any mutant: {failed}")
        if path is not None:
            passed, others = read(path)
            reached += passed
            for name in others:
                print(f"left out, for it fails without any mutant: {name}", flush=True)
    return reached


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


def _judge(asked: tuple[Mutant, list[str]]) -> Verdict:
    return judged(_trees["own"], *asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("modules", nargs="*", help="parts of the modules' paths; all without any")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
