"""SHA-256 of each jar of the releases that the project itself asks for.

    python -m pyspark_zkgroup.sandbox.jar_hashes     records those of the releases in the cache

A jar that differs is not run, whether it was fetched or lay in the cache. Of a release that is not
on record, such as that of a Spark newer than this package, what was fetched first is kept.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

RECORD = Path(__file__).with_name("jar_hashes.json")
MANIFEST = "sha256.json"


def of_jars(directory: Path) -> dict[str, str]:
    return {path.name: _digest(path) for path in sorted(directory.glob("*.jar"))}


def difference(release: str, found: Mapping[str, str]) -> str:
    """Which jar is not the one on record; empty if all are, or if there is no record."""
    expected = _recorded().get(release)
    if expected is None:
        return ""
    for name in sorted({*expected, *found}):
        if expected.get(name) != found.get(name):
            return (
                f"{name} has SHA-256 {found.get(name, 'of nothing: it is missing')}, "
                f"expected {expected.get(name, 'no such jar')}"
            )
    return ""


def is_recorded(release: str) -> bool:
    return release in _recorded()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        found = hashlib.sha256()
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()


@functools.cache
def _recorded() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(RECORD.read_text(encoding="utf-8"))
    return found


def _record(cache: Path) -> None:
    found = dict(_recorded()) if RECORD.exists() else {}
    for manifest in sorted(cache.glob(f"*/{MANIFEST}")):
        found[manifest.parent.name] = of_jars(manifest.parent)
    RECORD.write_text(json.dumps(dict(sorted(found.items())), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    from pyspark_zkgroup.sandbox.kafka_jars import cache_directory

    _record(cache_directory(os.environ) / "jars")
