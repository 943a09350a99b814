"""Delta's jars for the Spark of this Python, fetched once per user.

Spark could fetch them itself (`spark.jars.packages`), but its Ivy also looks into the local Maven
repository, and one that holds a pom without its jar makes it fail. As a program this prints them,
for `spark-submit --jars "$(python -m pyspark_zkgroup.delta.jars)"`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.cache import Release, Say
from pyspark_zkgroup.jars.maven import release_jars
from pyspark_zkgroup.jars.record import Record

RECORD = Record(Path(__file__).with_name("jar_hashes.json"))


def delta_jars(say: Say, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Return the paths of the jars. They are downloaded if this user's cache lacks them."""
    return release_jars(release(), RECORD, say, environment, dependencies=True)


def release() -> Release:
    """Return the coordinate of the installed delta-spark, built for the installed pyspark."""
    spark = ".".join(installed("pyspark").split(".")[:2])
    return Release(
        version=installed("delta-spark"),
        product="Delta",
        organisation="io.delta",
        artifact=f"delta-spark_{spark}",
    )


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise SandboxError(
            f"{package} is not installed for this Python",
            "Run: python -m pip install 'pyspark-zkgroup[spark,delta]'",
        ) from error


def print_jars(name: str, fetch: Callable[[Say], list[Path]]) -> None:
    """Print only the paths on stdout, for `spark-submit --jars "$(python -m ...)"`."""
    try:
        jars = fetch(lambda text: print(text, file=sys.stderr, flush=True))
    except SandboxError as error:
        sys.exit(f"{name}: {error}")
    print(",".join(map(str, jars)))


if __name__ == "__main__":
    print_jars("delta.jars", delta_jars)
