"""All versions of PySpark and of the brokers: python -m tests.matrix.run

One after the other, since each has a separate Spark: the cases of tests/matrix in an environment of
that version. At the end a table says what passed; build/matrix.json keeps it, next to the logs.
Exit status 0: nothing failed, and what was left out has a reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

from tests.matrix.environments import ROOT, EnvironmentFailedError, environment
from tests.matrix.versions import VERSIONS, Version

CASES = ROOT / "tests" / "matrix"
REPORT = ROOT / "build" / "matrix.json"
BROKERS = ("3.9", "4.1", "4.4")
PATIENCE_S = 3600.0
FAILED = ("failed", "error", "nothing ran")


@dataclass(frozen=True)
class Cell:
    """One case on one version: passed, skipped with its reason, failed, or error."""

    case: str
    brokers: str
    outcome: str
    seconds: float
    reason: str = ""


def main() -> int:
    arguments = _arguments(sys.argv[1:])
    chosen = [v for v in VERSIONS if not arguments.spark or v.line in arguments.spark]
    began = time.monotonic()
    found: dict[str, list[Cell]] = {}
    try:
        for version in chosen:
            found[version.pyspark] = _run(version, arguments)
            _write(found)
    except EnvironmentFailedError as error:
        print(f"matrix: {error}")
        return 1
    print(_table(found))
    for note in _notes(found, chosen):
        print(note)
    print(f"{time.monotonic() - began:.0f} s; all of it is in {REPORT.relative_to(ROOT)}")
    cells = [cell for each in found.values() for cell in each]
    return int(any(cell.outcome in FAILED for cell in cells))


def _arguments(given: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="matrix", description=(__doc__ or "").split("\n")[0])
    lines = [version.line for version in VERSIONS]
    parser.add_argument("--spark", nargs="*", choices=lines, help="only these lines")
    parser.add_argument("--brokers", nargs="*", choices=BROKERS, default=list(BROKERS))
    parser.add_argument("--cases", default="", metavar="EXPRESSION", help="as pytest's -k")
    return parser.parse_args(given)


def _run(version: Version, arguments: argparse.Namespace) -> list[Cell]:
    python = environment(version)
    log = REPORT.parent / f"matrix-{version.pyspark}.log"
    log.parent.mkdir(exist_ok=True)
    chosen = " or ".join(f"[{brokers}]" for brokers in arguments.brokers)
    expression = f"({chosen})" + (f" and ({arguments.cases})" if arguments.cases else "")
    began = time.monotonic()
    print(f"PySpark {version.pyspark}, brokers {', '.join(arguments.brokers)} ...", flush=True)
    with tempfile.TemporaryDirectory(prefix="zkx") as tmp, log.open("w") as output:
        results = Path(tmp) / "results.xml"
        command = [str(python), "-m", "pytest", "-q", "-m", "", "-k", expression]
        command += ["-p", "no:cacheprovider", "-rs", f"--junitxml={results}", str(CASES)]
        # Of this checkout's .venv nothing may be found by the other environment.
        kept = {n: v for n, v in os.environ.items() if n not in ("VIRTUAL_ENV", "SPARK_HOME")}
        pytest = subprocess.run(
            command,
            cwd=ROOT,
            env={
                **kept,
                "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'sandbox'}",
                "PYSPARK_PYTHON": str(python),
            },
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
            timeout=PATIENCE_S,
        )
        cells = cells_of(results.read_text()) if results.exists() else []
    if pytest.returncode != 0 and not any(cell.outcome in FAILED for cell in cells):
        cells.append(Cell("pytest itself", "", "nothing ran", 0.0, f"see {log.relative_to(ROOT)}"))
    failed = sum(cell.outcome in FAILED for cell in cells)
    passed = sum(cell.outcome == "passed" for cell in cells)
    print(f"  {passed} passed, {failed} failed, {time.monotonic() - began:.0f} s", flush=True)
    return cells


def cells_of(results: str) -> list[Cell]:
    """Of what pytest has written as JUnit's XML."""
    found = []
    for one in ET.fromstring(results).iter("testcase"):
        name, _, brokers = one.get("name", "").partition("[")
        outcome, reason = "passed", ""
        for kind, word in (("skipped", "skipped"), ("failure", "failed"), ("error", "error")):
            said = one.find(kind)
            if said is not None:
                outcome, reason = word, (said.get("message") or "").splitlines()[0]
        seconds = float(one.get("time", 0))
        case = name.removeprefix("test_").replace("_", " ")
        found.append(Cell(case, brokers.rstrip("]"), outcome, seconds, reason))
    return found


def _write(found: Mapping[str, list[Cell]]) -> None:
    REPORT.parent.mkdir(exist_ok=True)
    told = {version: [asdict(cell) for cell in cells] for version, cells in found.items()}
    REPORT.write_text(json.dumps(told, indent=1) + "\n")


def _table(found: Mapping[str, list[Cell]]) -> str:
    by_place = {
        (cell.case, cell.brokers, version): cell
        for version, cells in found.items()
        for cell in cells
    }
    rows = list(dict.fromkeys((case, brokers) for case, brokers, _ in by_place))
    width = max((len(case) for case, _ in rows), default=0)
    lines = [" " * (width + 10) + "".join(f"{version:>12}" for version in found)]
    for case, brokers in rows:
        shown = ""
        for version in found:
            cell = by_place.get((case, brokers, version))
            shown += f"{'-' if cell is None else f'{cell.outcome} {cell.seconds:.0f}s':>12}"
        lines.append(f"{case:<{width}}  {brokers:<8}{shown}")
    return "\n".join(lines)


def _notes(found: Mapping[str, list[Cell]], chosen: Sequence[Version]) -> list[str]:
    notes = [
        f"{version} {cell.case} [{cell.brokers}]: {cell.outcome}: {cell.reason}"
        for version, cells in found.items()
        for cell in cells
        if cell.reason
    ]
    return notes + [f"{v.pyspark}: without Delta, {v.no_delta}" for v in chosen if v.no_delta]


if __name__ == "__main__":
    sys.exit(main())
