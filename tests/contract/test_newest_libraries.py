"""Runs the newest kafka-python and kazoo of the package index, in addition to the pinned ones.

Only tests of their internals run with them, so a release that breaks these is known the next day.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import distributions, version
from pathlib import Path

import pytest

from pyspark_zkgroup.libraries import TESTED

HERE = Path(__file__).resolve().parent
FACING = {
    "kafka-python": ["test_kafka_python.py", "test_log_epochs.py", "test_fetch_ahead.py"],
    "kazoo": ["test_zk_session.py"],
}
RUN = """
import sys
import pytest
from pyspark_zkgroup.libraries import TESTED
TESTED[sys.argv[1]] = sys.argv[2]
sys.exit(pytest.main(["-p", "no:cacheprovider", "-q", "-k", "not real", *sys.argv[3:]]))
"""


@pytest.mark.parametrize("library", TESTED)
def test_the_newest_release(library: str, tmp_path: Path) -> None:
    installed = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--retries", "1", "--no-deps", "--target", str(tmp_path), library),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if installed.returncode != 0:
        pytest.skip(f"the package index does not answer: {installed.stderr[-200:]}")
    (newest,) = (d.version for d in distributions(path=[str(tmp_path)]))
    if newest == version(library):
        return  # all other tests run with it
    minor = ".".join(newest.split(".")[:2])
    found = subprocess.run(
        [sys.executable, "-c", RUN, library, minor, *(str(HERE / n) for n in FACING[library])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(HERE.parents[1])])},
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert found.returncode == 0, f"{library} {newest}: {found.stdout[-3000:]}"
