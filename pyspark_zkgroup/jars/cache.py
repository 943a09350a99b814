"""The user's cache of jars: a directory for each release, which appears complete or not at all.

It appears by a rename; a lock lets concurrent starts fetch once.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.lock import lock
from pyspark_zkgroup.jars.record import Record, of_jars

MANIFEST = "sha256.json"
SCALA_VERSION = "2.13"
REPOSITORY_VARIABLE = "ZKGROUP_MAVEN_REPOSITORY"
ATTEMPTS_MAX = 3
DOWNLOAD_DEADLINE_S = 900.0

Say = Callable[[str], None]
# Puts the jars into the folder `lib` of a directory, and returns what went wrong in one line, or
# nothing. The directory outlives a failed attempt: the next one can continue from there.
Fetch = Callable[[Path], str]


@dataclass(frozen=True)
class Release:
    """One release, of Kafka unless said otherwise, as the Maven repository names it."""

    version: str
    scala: str = SCALA_VERSION
    """Empty for what is not written in Scala."""
    product: str = "Kafka"
    organisation: str = "org.apache.kafka"
    artifact: str = "kafka"

    @property
    def module(self) -> str:
        return f"{self.artifact}_{self.scala}" if self.scala else self.artifact

    @property
    def name(self) -> str:
        return f"{self.module}-{self.version}"

    @property
    def title(self) -> str:
        return f"{self.product} {self.version}"


def kept(
    release: Release,
    record: Record,
    fetch: Fetch,
    say: Say,
    environment: Mapping[str, str] | None = None,
) -> Path:
    """Return the directory with that release's jars, fetched when this user's cache lacks them."""
    cache = cache_directory(os.environ if environment is None else environment) / "jars"
    directory = cache / release.name
    if not complete(directory, record):
        _make_directory(cache)
        with lock(
            cache / f"{release.name}.lock",
            deadline_s=DOWNLOAD_DEADLINE_S,
            busy=lambda: say(f"another process is fetching {release.name}; waiting for it"),
        ):
            if not complete(directory, record):
                _fill(directory, release, record, fetch, say)
    return directory


def cache_directory(environment: Mapping[str, str]) -> Path:
    base = environment.get("XDG_CACHE_HOME", "")
    # The XDG rules call a relative path invalid and tell to ignore it.
    if base and Path(base).is_absolute():
        return Path(base) / "zkgroup"
    return Path(environment.get("HOME") or Path.home()) / ".cache" / "zkgroup"


def complete(directory: Path, record: Record) -> bool:
    """Whether the cache has all jars as they were fetched, and as they are on record."""
    try:
        expected = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        found = of_jars(directory)
    except (OSError, ValueError):
        return False
    return bool(found) and found == expected and not record.difference(directory.name, found)


def _make_directory(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SandboxError.of("no_cache_directory", path=path, error=error.strerror) from error


def _fill(directory: Path, release: Release, record: Record, fetch: Fetch, say: Say) -> None:
    say(f"fetching the jars of {release.title} (once per user) into {directory}")
    prefix = f".fetching-{release.name}-"
    for left in directory.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)  # by a fetch that was killed: we hold the lock
    with tempfile.TemporaryDirectory(dir=directory.parent, prefix=prefix) as work_name:
        work = Path(work_name)
        problem = ""
        for attempt in range(1, ATTEMPTS_MAX + 1):
            problem = fetch(work)
            if not problem:
                break
            if attempt < ATTEMPTS_MAX:
                say(f"attempt {attempt} of {ATTEMPTS_MAX} failed ({problem}); trying again")
        if problem:
            raise SandboxError.of(
                "not_fetched", name=release.title, problem=problem, variable=REPOSITORY_VARIABLE
            )
        publish(work / "lib", directory, record, say)
    say(f"{release.title} is in {directory}")


def publish(lib: Path, directory: Path, record: Record, say: Say) -> None:
    found = of_jars(lib)
    if problem := record.difference(directory.name, found):
        raise SandboxError.of(
            "unknown_jar", name=directory.name, problem=problem, variable=REPOSITORY_VARIABLE
        )
    if not record.has(directory.name):
        say(f"no SHA-256 of {directory.name} is on record: what came first is kept")
    (lib / MANIFEST).write_text(json.dumps(found, indent=1), encoding="utf-8")
    if directory.exists():
        shutil.rmtree(directory)  # incomplete, or we would not be here
    lib.rename(directory)
