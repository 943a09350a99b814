"""Delta's jars for the Spark of this Python: fetched and cached like Kafka's.

Spark could fetch them itself (`spark.jars.packages`), but its Ivy also looks into the local Maven
repository, and one that holds a pom without its jar makes it fail. As a program this prints them,
for `spark-submit --jars "$(python -m pyspark_zkgroup.sandbox.delta_jars)"`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.sandbox.java import find_java
from pyspark_zkgroup.sandbox.kafka_jars import SCALA_VERSION, Release, Say, release_jars


def delta_jars(java: Path, say: Say, environment: Mapping[str, str] | None = None) -> list[Path]:
    """Fetched when this user's cache lacks them."""
    directory = release_jars(_release(), java, say, environment)
    return sorted(directory.glob("*.jar"))


def _release() -> Release:
    """That of the installed delta-spark, built for the installed pyspark."""
    spark = ".".join(installed("pyspark").split(".")[:2])
    return Release(
        version=installed("delta-spark"),
        scala=SCALA_VERSION,
        product="Delta",
        organisation="io.delta",
        artifact=f"delta-spark_{spark}",
        wants="own jars",
    )


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError as error:
        raise SandboxError(
            f"{package} is not installed for this Python",
            "Run: python -m pip install 'pyspark-zkgroup[spark,delta]'",
        ) from error


def print_jars(name: str, fetch: Callable[[Path, Say], list[Path]]) -> None:
    """For `spark-submit --jars "$(python -m ...)"`: the paths alone on stdout."""
    try:
        jars = fetch(find_java(), lambda text: print(text, file=sys.stderr, flush=True))
    except SandboxError as error:
        sys.exit(f"{name}: {error}")
    print(",".join(map(str, jars)))


if __name__ == "__main__":
    print_jars("delta_jars", delta_jars)
