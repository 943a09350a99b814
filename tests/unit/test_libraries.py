"""Which versions of kafka-python and kazoo are taken."""

from __future__ import annotations

import configparser
from pathlib import Path

import kafka
import pytest
from kazoo.version import __version__ as kazoo_version
from packaging.requirements import Requirement

from pyspark_zkgroup.errors import DependencyError
from pyspark_zkgroup.libraries import TESTED, check

SETUP = Path(__file__).resolve().parents[2] / "setup.cfg"


def allowed() -> dict[str, Requirement]:
    config = configparser.ConfigParser(interpolation=None)
    config.read(SETUP)
    lines = config["options"]["install_requires"].split("\n")
    wanted = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {one.name: one for one in wanted}


@pytest.mark.parametrize("library", TESTED)
def test_the_installation_allows_the_tested_versions_and_no_others(library: str) -> None:
    major, minor = map(int, TESTED[library].split("."))
    taken = allowed()[library].specifier
    assert taken.contains(f"{major}.{minor}.99")
    assert not taken.contains(f"{major}.{minor + 1}.0")
    assert not taken.contains(f"{major}.{minor - 1}.99" if minor else f"{major - 1}.99")


def test_what_is_installed_here_is_taken() -> None:
    check("kafka-python", kafka.__version__)
    check("kazoo", kazoo_version)


@pytest.mark.parametrize("version", ["3.1.0", "2.9.9", "4.0", "3.10.1", "unknown"])
def test_another_version_is_refused_before_anything_is_connected(version: str) -> None:
    with pytest.raises(DependencyError) as caught:
        check("kafka-python", version)
    assert caught.value.what.startswith(f"kafka-python {version} is installed, but")
    assert caught.value.remedy == "Install it with pip install 'kafka-python==3.0.*'"
