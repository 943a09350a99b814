"""Puts the newest results into docs/benchmarks.md and README.md: `make bench-publish`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.bench.cases import BenchError
from tests.bench.report import markdown, summary

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
PICTURE = "![times the rows per second of Spark's own Kafka source](bench.png)"
BEGIN, END = "<!-- bench: begin -->", "<!-- bench: end -->"


def publish(readme: Path, page: Path, build: Path) -> None:
    results, picture = build / "bench.json", build / "bench.png"
    for path in (results, picture):
        if not path.exists():
            raise BenchError(f"{path} is not there. Run: make bench")
    found = json.loads(results.read_text(encoding="utf-8"))
    for path, shown in ((page, f"{PICTURE}\n\n{markdown(found)}"), (readme, summary(found))):
        path.write_text(with_table(path.read_text(encoding="utf-8"), shown), encoding="utf-8")
    shutil.copyfile(picture, page.parent / "bench.png")


def with_table(text: str, table: str) -> str:
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise BenchError(f"The page has no place for it: {BEGIN} and, below, {END}")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main() -> None:
    try:
        publish(ROOT / "README.md", ROOT / "docs" / "benchmarks.md", BUILD)
    except BenchError as error:
        sys.exit(f"bench-publish: {error}")
    print("README.md and docs/benchmarks.md show the newest results")


if __name__ == "__main__":
    main()
