"""Checks the Python that Spark starts for the planner and the tasks."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from pyspark_zkgroup.errors import DependencyError

# What the package needs in a worker is looked for, not imported: that would take a while.
_PROBE = """
import importlib.util, sys
print("%d.%d" % sys.version_info[:2])
import pyspark_zkgroup
for name in ("pyarrow", "kafka"):
    if importlib.util.find_spec(name) is None:
        __import__(name)
"""
_MISSING = re.compile(r"No module named '(pyspark_zkgroup|pyarrow|kafka|kazoo)'")
_PACKAGES = {"kafka": "kafka-python"}
_PROBE_S = 30.0


def check_worker_python(python: str) -> None:
    """DependencyError unless `python` is of this version and has this package. Databricks prepares
    its workers in its own way.
    """
    if "DATABRICKS_RUNTIME_VERSION" in os.environ:
        return
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    version, error = _asked(python)
    if version not in ("", here):
        wrong = f"is Python {version}, but this program runs on Python {here}"
    elif (missing := _MISSING.search(error)) is not None:
        wrong = f"does not have the package {_PACKAGES.get(missing[1], missing[1])}"
    elif error:
        wrong = f"cannot import pyspark_zkgroup ({error})"
    else:
        return
    raise DependencyError.of(
        "worker_python", python=python, reason=wrong, executable=sys.executable
    )


def without_package(error: ModuleNotFoundError) -> Exception:
    """Return what to raise in a worker. One whose Python has no packages finds this one all the
    same if the program is started in a clone.
    """
    missing = _MISSING.search(str(error))
    if missing is None:
        return error
    package = _PACKAGES.get(missing[1], missing[1])
    return DependencyError.of("worker_package", python=sys.executable, package=package)


def _asked(python: str) -> tuple[str, str]:
    """Its version, and the last line of its error."""
    try:
        done = subprocess.run(
            [python, "-c", _PROBE],
            capture_output=True,
            text=True,
            timeout=_PROBE_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", str(error)
    lines = done.stderr.strip().splitlines() or ["it failed without a message"]
    return done.stdout.strip(), lines[-1] if done.returncode else ""
