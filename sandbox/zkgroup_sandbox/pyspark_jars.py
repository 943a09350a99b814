"""Jars that come with pyspark: a whole ZooKeeper server, and the logging of all servers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError

# Only what the servers touch: a class path of all 300 jars costs each JVM start half a second.
LOGGING = ("slf4j-api-", "log4j-api-", "log4j-core-", "log4j-slf4j2-impl-", "log4j-1.2-api-")
ZOOKEEPER = (
    "zookeeper-",
    "commons-io-",
    "commons-lang3-",
    "metrics-core-",
    "netty-",
    "snappy-java-",
    "audience-annotations-",
)


def jars_directory() -> Path:
    """Where pyspark keeps its jars; pyspark itself is not imported, which would take a second."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SandboxError.of("servers_without_pyspark")
    return Path(found.origin).parent / "jars"


def logging_jars() -> list[Path]:
    return _select(LOGGING)


def zookeeper_jars() -> list[Path]:
    return _select(ZOOKEEPER) + _select(LOGGING)


def _select(prefixes: tuple[str, ...]) -> list[Path]:
    directory = jars_directory()
    chosen = [p for p in sorted(directory.glob("*.jar")) if p.name.startswith(prefixes)]
    if not any(p.name.startswith(prefixes[0]) for p in chosen):
        raise SandboxError.of("incomplete_pyspark", directory=directory, jar=f"{prefixes[0]}*.jar")
    return chosen
