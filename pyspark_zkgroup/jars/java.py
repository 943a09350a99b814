"""Finds the Java that runs the servers, and refuses one that is too old for them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError

# PySpark 4 and the Kafka 4.1 broker are compiled for 17; nothing older can start them.
JAVA_VERSION_MIN = 17
VERSION_TIMEOUT_S = 30.0
REMEDY = f"Install Java {JAVA_VERSION_MIN} or later and let JAVA_HOME or PATH point to it"


def find_java(environment: Mapping[str, str] | None = None) -> Path:
    """The java of JAVA_HOME, else the first one on PATH."""
    environment = os.environ if environment is None else environment
    java = _candidate(environment)
    version = _major_version(java)
    if version < JAVA_VERSION_MIN:
        raise SandboxError.of(
            "old_java", needed=JAVA_VERSION_MIN, java=java, version=version, remedy=REMEDY
        )
    return java


def _candidate(environment: Mapping[str, str]) -> Path:
    home = environment.get("JAVA_HOME", "")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise SandboxError.of("java_home", value=home, remedy=REMEDY)
        return java
    found = shutil.which("java", path=environment.get("PATH", ""))
    if found is None:
        raise SandboxError.of("no_java", remedy=REMEDY)
    return Path(found)


def _major_version(java: Path) -> int:
    try:
        shown = subprocess.run(
            [str(java), "-version"],
            capture_output=True,
            text=True,
            timeout=VERSION_TIMEOUT_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        # The placeholder that macOS installs as /usr/bin/java is executable and always fails.
        raise SandboxError.of("java_failed", java=java, error=error, remedy=REMEDY) from error
    version = parse_version(shown.stderr + shown.stdout)
    if version is None:
        raise SandboxError.of("java_without_version", java=java, remedy=REMEDY)
    return version


def parse_version(text: str) -> int | None:
    """The major version in the output of `java -version`; 8 for the old form 1.8.0."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    first, second = match.group(1), match.group(2)
    return int(second) if first == "1" and second else int(first)
