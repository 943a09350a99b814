"""A Python environment for each version of PySpark, in the user's cache and kept there.

The project is on its path as it is in .venv: this checkout itself, so that what is tested is what
stands here, with the native decoder that `make setup` has built.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark_zkgroup.jars.cache import cache_directory
from requirements.install import pins
from tests.matrix.versions import Version

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements" / "dev.txt"
STAMP = "matrix.json"
# What the tests themselves import.
FOR_TESTS = ("hypothesis", "pytest", "pytest-timeout")
# Each version has its own; and what Spark Connect needs is not among the pins.
OWN = frozenset({"pyspark", "delta-spark", "py4j", "importlib-metadata", "zipp"})


class EnvironmentFailedError(Exception):
    """One line for the person at the terminal."""


def environment(version: Version) -> Path:
    """Its Python. Made when the cache lacks it, or has it of other packages."""
    python = "{}.{}".format(*sys.version_info)
    home = cache_directory(os.environ) / "matrix" / f"pyspark-{version.pyspark}-python-{python}"
    wanted = _wanted(version)
    if _made(home) != wanted:
        print(f"making {home}", flush=True)
        _make(home, version)
        (home / STAMP).write_text(json.dumps(wanted) + "\n")
    return home / "bin" / "python"


def _packages(version: Version) -> list[str]:
    config = configparser.ConfigParser(interpolation=None)
    config.read(ROOT / "setup.cfg")
    required = config["options"]["install_requires"].split("\n")
    spark = config["options.extras_require"]["spark"].split("\n")
    besides = [line for line in (*required, *spark) if line and not line.startswith("pyspark")]
    return [*besides, *FOR_TESTS, f"pyspark[connect]=={version.pyspark}"]


def _constraints() -> str:
    found = pins(LOCK.read_text())
    return "".join(pin + "\n" for pin in found if pin.split("==")[0].lower() not in OWN)


def _wanted(version: Version) -> dict[str, str]:
    text = json.dumps([_packages(version), version.delta, _constraints()])
    return {"place": str(ROOT), "packages": hashlib.sha256(text.encode()).hexdigest()}


def _made(home: Path) -> dict[str, str]:
    try:
        stamp: dict[str, str] = json.loads((home / STAMP).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stamp


def _make(home: Path, version: Version) -> None:
    if home.exists():
        shutil.rmtree(home)
    home.parent.mkdir(parents=True, exist_ok=True)
    _run(sys.executable, "-m", "venv", str(home))
    constraints = home / "constraints.txt"
    constraints.write_text(_constraints())
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--no-input"]
    pip += ["--disable-pip-version-check"]
    # First what builds pyspark, which comes as source: pip would fetch another one for that.
    _run(*pip, "--constraint", str(constraints), "setuptools", "wheel")
    _run(*pip, "--no-build-isolation", "--constraint", str(constraints), *_packages(version))
    if version.delta:
        # Its package names a newest pyspark, the patches after which it does not know yet.
        _run(*pip, "--no-deps", f"delta-spark=={version.delta}", "importlib-metadata<8.8", "zipp")
    for packages in _site_packages(home):
        (packages / "zkgroup-checkout.pth").write_text(f"{ROOT}\n")
    _run(str(home / "bin" / "python"), str(ROOT / "requirements" / "bytecode.py"))


def _site_packages(home: Path) -> Iterator[Path]:
    yield from (home / "lib").glob("python*/site-packages")


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(done.stdout[-2000:] + done.stderr[-4000:])
        raise EnvironmentFailedError(f"{' '.join(command[:6])} ... failed, see above")
