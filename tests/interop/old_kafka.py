"""Programs that run on the jars of an old Kafka: fetched and compiled once per user, then cached.

Needs a JDK, not only a JRE: the programs are compiled by the compiler that is a module of it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from pyspark_zkgroup.jars.cache import Release, cache_directory
from pyspark_zkgroup.jars.java import find_java
from zkgroup_sandbox.kafka_jars import all_jars
from zkgroup_sandbox.pyspark_jars import logging_jars

HERE = Path(__file__).parent
SCALA_VERSION = "2.11"
JAVA_RELEASE = "17"
COMPILE_DEADLINE_S = 120.0
# What the JVMs of the tests have in common: many of them share a small machine.
FLAGS = (
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-Djava.net.preferIPv4Stack=true",
    f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
)


def command(version: str, program: str) -> list[str]:
    """The command line of tests/interop/PROGRAM.java on the jars of that version."""
    java = find_java()
    jars = sorted(all_jars(Release(version, SCALA_VERSION), _say).glob("*.jar"))
    source = HERE / f"{program}.java"
    classes = compiled(java, source, version, jars)
    # pyspark's logging first: all versions then log in one form, to the standard error.
    path = [classes, *logging_jars(), *jars]
    return [str(java), *FLAGS, "-cp", os.pathsep.join(map(str, path)), program]


def _say(text: str) -> None:
    """Not on the standard output: the first time this takes long, and a command that is run in this
    process meanwhile would seem to have printed it.
    """
    print(text, file=sys.stderr)


def compiled(java: Path, source: Path, version: str, jars: list[Path]) -> Path:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:12]
    cache = cache_directory(os.environ) / "interop"
    directory = cache / f"{source.stem}-{version}-{digest}"
    if directory.exists():
        return directory
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix=".compiling-") as work_name:
        work = Path(work_name) / "classes"
        _compile(java, source, jars, work)
        try:
            work.rename(directory)
        except OSError:
            if not directory.exists():  # another run was quicker
                raise
    return directory


def _compile(java: Path, source: Path, jars: list[Path], directory: Path) -> None:
    done = subprocess.run(
        [
            str(java),
            *FLAGS,
            *("--module", "jdk.compiler/com.sun.tools.javac.Main"),
            *("--release", JAVA_RELEASE, "-nowarn", "-d", str(directory)),
            *("-cp", os.pathsep.join(map(str, jars)), str(source)),
        ],
        capture_output=True,
        text=True,
        timeout=COMPILE_DEADLINE_S,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(
            f"{source.name} was not compiled by {java}, which must be of a JDK (a JRE has no "
            f"compiler):\n{done.stdout}{done.stderr}"
        )
