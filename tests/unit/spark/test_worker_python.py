"""Errors about a Python that Spark's workers cannot use."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pyspark_zkgroup.errors import DependencyError
from pyspark_zkgroup.spark.worker_python import check_worker_python


def python(tmp_path: Path, script: str) -> str:
    """A program that answers in place of a Python."""
    path = tmp_path / "python3"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


@pytest.mark.parametrize(
    ("script", "wrong"),
    [
        ("echo 3.6", f"is Python 3.6, but this program runs on Python {HERE}"),
        (
            f"echo {HERE}; echo \"No module named 'pyspark_zkgroup'\" >&2; exit 1",
            "does not have the package pyspark_zkgroup",
        ),
        (
            f"echo {HERE}; echo \"No module named 'kafka'\" >&2; exit 1",
            "does not have the package kafka-python",
        ),
        (f"echo {HERE}; exit 1", "cannot import pyspark_zkgroup (it failed without a message)"),
    ],
)
def test_a_python_that_workers_cannot_use(tmp_path: Path, script: str, wrong: str) -> None:
    path = python(tmp_path, script)
    with pytest.raises(DependencyError) as caught:
        check_worker_python(path)
    assert caught.value.what == f"Spark starts its Python workers with {path!r}, which {wrong}"
    assert f"Set PYSPARK_PYTHON={sys.executable}" in caught.value.remedy


def test_a_python_that_is_not_there() -> None:
    with pytest.raises(DependencyError, match="No such file or directory"):
        check_worker_python("/nowhere/python3")


def test_this_python_is_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    check_worker_python(sys.executable)


def test_a_python_without_the_packages_that_workers_import(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The package alone is there, as where it was sent with --py-files."""
    (tmp_path / "pyspark_zkgroup").mkdir()
    (tmp_path / "pyspark_zkgroup" / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    bare = python(tmp_path, f'exec {sys.executable} -S "$@"')
    with pytest.raises(DependencyError, match="does not have the package pyarrow"):
        check_worker_python(bare)


def test_databricks_prepares_its_own_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "19.0")
    check_worker_python("/nowhere/python3")
