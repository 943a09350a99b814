"""What `make wheel` builds: its name and its contents."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path

import pytest

from pyspark_zkgroup import __version__
from tests.packages.clean_python import CleanPython
from tests.packages.distribution import Distribution

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

LIBRARY = "pyspark_zkgroup/records/_decoder.abi3.so"


def test_it_is_for_every_python_from_3_10_on_and_every_linux_from_one_glibc_on(
    distribution: Distribution,
) -> None:
    name = distribution.wheel.name
    tag = r"cp310-abi3-manylinux_2_\d+_(x86_64|aarch64)"
    assert re.fullmatch(rf"pyspark_zkgroup-{re.escape(__version__)}-{tag}\.whl", name)

    with zipfile.ZipFile(distribution.wheel) as wheel:
        names = wheel.namelist()
        told = wheel.read(f"pyspark_zkgroup-{__version__}.dist-info/WHEEL").decode()
    assert f"Tag: {name.removesuffix('.whl').split('-', 2)[2]}\n" in told
    assert "Root-Is-Purelib: false" in told
    assert LIBRARY in names
    assert "pyspark_zkgroup/py.typed" in names
    assert {n.split("/")[0] for n in names} == {
        "pyspark_zkgroup",
        f"pyspark_zkgroup-{__version__}.dist-info",
    }
    assert [n for n in names if n.endswith((".rs", ".toml", ".lock"))] == []


def test_it_uses_only_the_stable_interface_of_python(
    distribution: Distribution, tmp_path: Path
) -> None:
    judges = CleanPython.made(tmp_path / "judges")
    judges.install("abi3audit")
    wheel = str(distribution.wheel)

    judged = judges.run("-m", "abi3audit", "--strict", "--report", wheel)
    assert '"non_abi3_symbols": []' in judged, judged
    assert '"future_abi3_objects": {}' in judged, judged
