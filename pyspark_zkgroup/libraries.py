"""The libraries of which parts are used that are not public, and the versions that were tested.

kafka-python's transports and kazoo's connection handler are extended here (kafka/receiving.py,
zk/connection.py). A release that changes them may lose an answer instead of failing, so one that
was not tested is refused before anything is connected.
"""

from __future__ import annotations

from functools import cache

from pyspark_zkgroup.errors import DependencyError

TESTED = {"kafka-python": "3.0", "kazoo": "2.11"}
"""The minor versions that setup.cfg allows, which a test compares."""


@cache
def check(library: str, version: str) -> None:
    if ".".join(version.split(".")[:2]) != TESTED[library]:
        raise DependencyError.of(
            "untested_version", library=library, version=version, tested=TESTED[library]
        )
