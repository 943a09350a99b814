"""Mechanical mutations of what decides, and which of them no test notices: `make mutants`.

    python -m tests.mutants.run [--sample 600] [--seed 7] [--cores 2] [--again] [MODULE ...]

The sample is spread over the modules. Mutants that change no behavior are listed in
equivalent.json with the reason. Exits with status 1 if fewer than 90 % of the others are killed.
build/mutants.json has each verdict as soon as it is known. `--again` keeps the kills of an earlier
run of the same sources, and judges the others: after an interruption, or with new tests.
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
_TRACES = (
    "test_traces.py",
    "test_ends.py",
    "test_checkers.py",
    "test_busy.py",
    "test_lost_nodes.py",
)
# Of the contract tests: those of each protocol on fakes, and the modules that know no servers.
_ON_FAKES = (
    "fakes",
    "test_bad_registrations.py",
    "test_given_up.py",
    "test_kafka_member.py",
    "test_light_stream.py",
    "test_offset_nodes.py",
    "test_requests.py",
    "test_suspended.py",
)
_RECORDING_S_MAX = 3600
_trees: dict[str, Path] = {}


def main() -> int:
    given = _arguments()
    began = time.monotonic()
    equivalent = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    sample = sampled(modules(given.modules), given.sample, given.seed)
    sample = [mutant for mutant in sample if str(mutant) not in equivalent]
    told = _told(sample) if given.again else {}
    left = [mutant for mutant in sample if not told.get(str(mutant))]
    with tempfile.TemporaryDirectory() as directory:
        context = multiprocessing.get_context("spawn")
        with context.Pool(given.cores, _make_tree, (directory,)) as pool:
            reached = _recorded(pool.map(_record, enumerate(_recordings()), chunksize=1))
            asked = [(mutant, asked_of(mutant, reached)) for mutant in left]
            for number, verdict in enumerate(pool.imap_unordered(_judge, asked), 1):
                told[str(verdict.mutant)] = verdict.killed_by
                _tell(told)
                if not verdict.killed_by:
                    alive = f"{verdict.mutant} (line {verdict.mutant.line})"
                    print(f"{number} of {len(left)} lives: {alive}", flush=True)
    killed = [by for by in told.values() if by]
    endless = sum(by.endswith("no end") for by in killed)
    took_min = (time.monotonic() - began) / 60
    print(
        f"{len(killed)} of {len(told)} mutants killed ({endless} of them had no end), in "
        f"{took_min:.0f} min on {given.cores} cores"
    )
    return 0 if len(killed) >= KILLED_SHARE_MIN * len(told) else 1


def _told(sample: list[Mutant]) -> dict[str, str]:
    """Return what an earlier run found out about these."""
    names = {str(mutant) for mutant in sample}
    found = json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}
    return {name: by for name, by in found.items() if name in names and by}


def _tell(told: dict[str, str]) -> None:
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def _recordings() -> list[list[str]]:
    """What is run before anything is changed: paths of tests, or a simulation."""
    traces = [str(p.relative_to(ROOT)) for t in _TRACES for p in (ROOT / "tests/sim").rglob(t)]
    simulations = [simulated(p) for p in ("zookeeper", "kafka", "light", "coordinator")]
    on_fakes = ["tests/contract", "-k", f"({' or '.join(_ON_FAKES)}) and not servers"]
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
    """Each worker keeps to one core: two simulations at the same time would choose theirs alone."""
    cores, number = sorted(os.sched_getaffinity(0)), multiprocessing.current_process()._identity[0]
    os.sched_setaffinity(0, {cores[number % len(cores)]})
    _trees["own"] = copied(ROOT, Path(directory) / str(os.getpid()))


def _judge(asked: tuple[Mutant, list[Reached]]) -> Verdict:
    return judged(_trees["own"], *asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--again", action="store_true", help="keep the kills of an earlier run")
    parser.add_argument("modules", nargs="*", help="parts of the modules' paths; all without any")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
