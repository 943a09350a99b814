"""The source distribution, installed where Rust is, and where it is not."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from pyspark_zkgroup import __version__
from tests.packages.clean_python import ROOT, CleanPython, without_rust
from tests.packages.distribution import NATIVE_BUILD, Distribution, checkout

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

PROGRAM = str(Path(__file__).with_name("decoder_in_use.py"))
NATIVE = "pyspark_zkgroup/records/_native"


def test_it_has_all_that_a_build_needs_and_nothing_of_this_machine(
    distribution: Distribution,
) -> None:
    with tarfile.open(distribution.source) as source:
        top = f"pyspark_zkgroup-{__version__}/"
        names = {m.name.removeprefix(top) for m in source.getmembers() if m.isfile()}

    sources = {str(path.relative_to(ROOT)) for path in (ROOT / NATIVE / "src").glob("*.rs")}
    assert sources
    assert names >= sources | {f"{NATIVE}/Cargo.toml", f"{NATIVE}/Cargo.lock"}
    assert names >= {"setup.py", "setup.cfg", "pyproject.toml", "build_backend.py"}
    assert names >= {"README.md", "LICENSE", "CHANGELOG.md", "pyspark_zkgroup/py.typed"}
    places = {name.split("/")[0] for name in names if "/" in name}
    assert places == {"pyspark_zkgroup", "pyspark_zkgroup.egg-info"}
    assert [n for n in names if n.endswith((".so", ".pyc")) or "/target/" in n] == []


def test_with_rust_it_installs_the_native_decoder(
    distribution: Distribution, clean_python: Callable[[], CleanPython]
) -> None:
    python = clean_python()
    told = python.install("--verbose", str(distribution.source), CARGO_TARGET_DIR=NATIVE_BUILD)

    assert re.search(r"Created wheel .*filename=\S+-cp310-abi3-linux_\w+\.whl", told)
    found = json.loads(python.run(PROGRAM))
    assert Path(found["place"]).is_relative_to(python.packages)
    assert (found["decoder"], found["slow_because"]) == ("NativeDecoder", None)


def test_programs_in_the_clone_that_it_was_installed_from_have_the_decoder_too(
    clean_python: Callable[[], CleanPython], tmp_path: Path
) -> None:
    """Python prefers the sources there, also in Spark's workers."""
    checkout(tmp_path)
    assert not list(tmp_path.rglob("_decoder*.so"))
    python = clean_python()
    python.install(str(tmp_path), CARGO_TARGET_DIR=NATIVE_BUILD)

    found = json.loads(python.run(PROGRAM, PYTHONPATH=str(tmp_path)))
    assert Path(found["place"]).is_relative_to(tmp_path)
    assert (found["decoder"], found["slow_because"]) == ("NativeDecoder", None)


def test_without_rust_it_installs_and_says_that_it_reads_slowly(
    distribution: Distribution, clean_python: Callable[[], CleanPython], tmp_path: Path
) -> None:
    python = clean_python()
    told = python.install(str(distribution.source), **without_rust(tmp_path / "shims"))

    assert re.search(r"Created wheel .*filename=\S+-py3-none-any\.whl", told)
    told = python.run(PROGRAM)
    assert "[ZKG-141] Reading will be slow" in told
    assert json.loads(told[told.rindex("{") :])["decoder"] == "ReferenceDecoder"

    doctor = python.command("zkgroup", "doctor", "--json")
    findings = {finding["thing"]: finding for finding in json.loads(doctor.stdout)}
    assert findings["native decoder"]["state"] == "note"
    assert "a hundred times slower" in findings["native decoder"]["text"]
    remedy = findings["native decoder"]["remedy"]
    assert "a Rust toolchain (https://rustup.rs) and a C compiler" in remedy
