"""SHA-256 of each jar of the releases that the project itself asks for, in a JSON file.

    python -m pyspark_zkgroup.jars.record FILE DIRECTORY...

records the jars of directories of the cache. A jar that differs is not run, whether it was fetched
or lay in the cache. Of a release that is not on record, such as that of a Spark newer than this
package, what was fetched first is kept.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path


class Record:
    def __init__(self, path: Path) -> None:
        self.path = path

    def has(self, release: str) -> bool:
        return release in self._jars

    def difference(self, release: str, found: Mapping[str, str]) -> str:
        """Which jar is not the one on record; empty if all are, or if there is no record."""
        expected = self._jars.get(release)
        if expected is None:
            return ""
        for name in sorted({*expected, *found}):
            if expected.get(name) != found.get(name):
                return (
                    f"{name} has SHA-256 {found.get(name, 'of nothing: it is missing')}, "
                    f"expected {expected.get(name, 'no such jar')}"
                )
        return ""

    def add(self, directories: Iterable[Path]) -> None:
        found = self._jars | {directory.name: of_jars(directory) for directory in directories}
        text = json.dumps(dict(sorted(found.items())), indent=1)
        self.path.write_text(text + "\n", encoding="utf-8")

    @functools.cached_property
    def _jars(self) -> dict[str, dict[str, str]]:
        if not self.path.exists():
            return {}
        found: dict[str, dict[str, str]] = json.loads(self.path.read_text(encoding="utf-8"))
        return found


def of_jars(directory: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in sorted(directory.glob("*.jar"))}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        found = hashlib.sha256()
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


if __name__ == "__main__":
    Record(Path(sys.argv[1])).add(map(Path, sys.argv[2:]))
