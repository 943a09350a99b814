"""Java is found by JAVA_HOME, then by PATH, and refused when it is too old."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_zkgroup.errors import SandboxError
from pyspark_zkgroup.jars.java import find_java, parse_version


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_402"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ('openjdk version "24-ea" 2025-03-18', 24),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "17.0.1"', 17),
        ("The operation couldn't be completed.", None),
    ],
)
def test_version_is_read(text: str, version: int | None) -> None:
    assert parse_version(text) == version


def fake_java(home: Path, script: str) -> Path:
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)
    return java


def test_java_home_wins_over_path(tmp_path: Path) -> None:
    wanted = fake_java(tmp_path / "home", "echo 'openjdk version \"17.0.1\"' >&2")
    other = fake_java(tmp_path / "other", "echo 'openjdk version \"21\"' >&2")
    environment = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)}
    assert find_java(environment) == wanted
    assert find_java({"PATH": str(other.parent)}) == other


def test_no_java_at_all() -> None:
    with pytest.raises(SandboxError, match=r"No Java was found.*Install Java 17 or later"):
        find_java({"PATH": ""})


def test_java_home_without_java(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="contains no bin/java"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_old_java_is_refused(tmp_path: Path) -> None:
    java = fake_java(tmp_path, "echo 'openjdk version \"11.0.2\"' >&2")
    with pytest.raises(SandboxError, match=f"needs Java 17 or later, but {java} is Java 11"):
        find_java({"JAVA_HOME": str(tmp_path)})


def test_java_that_cannot_run(tmp_path: Path) -> None:
    fake_java(tmp_path, "exit 1")
    with pytest.raises(SandboxError, match="-version failed"):
        find_java({"JAVA_HOME": str(tmp_path)})
