"""A copy of the package with some of its text replaced, and what a program prints with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def copied(to: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__", "_native")
    package = ROOT / "pyspark_zkgroup"
    return Path(shutil.copytree(package, to / package.name, ignore=ignored))


def change(file: Path, changes: Iterable[tuple[str, str]]) -> None:
    """Replace texts that are there once."""
    text = file.read_text(encoding="utf-8")
    for before, after in changes:
        assert text.count(before) == 1, before
        text = text.replace(before, after)
    file.write_text(text, encoding="utf-8")


def printed(program: str, copy_of: Path) -> list[str]:
    """Return the lines of a program that imports the copy in this folder, and our tests."""
    shown = subprocess.run(
        [sys.executable, "-c", program],
        cwd=copy_of,
        env={"PYTHONPATH": f"{copy_of}:{ROOT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return shown.stdout.splitlines()
