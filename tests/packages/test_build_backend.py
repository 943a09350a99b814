"""What pip has to fetch before it builds the native decoder."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import build_backend
from tests.packages.clean_python import ROOT, CleanPython, without_rust
from tests.packages.distribution import NATIVE_BUILD, checkout


def programs(place: Path, **told: str) -> str:
    """A path on which these programs say what they are, and nothing else is."""
    place.mkdir()
    for name, text in told.items():
        (place / name).write_text(f"#!/bin/sh\necho '{text}'\n", encoding="utf-8")
        (place / name).chmod(0o755)
    return str(place)


def needed(path: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setenv("PATH", path)
    return build_backend.lacks_rust()


def test_a_toolchain_is_needed_where_there_is_none_or_an_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, old = "rustc 1.95.0 (59807616e 2026-04-14)", "rustc 1.63.0"
    assert not needed(programs(tmp_path / "new", cc="", cargo=now, rustc=now), monkeypatch)
    assert needed(programs(tmp_path / "old", cc="", cargo=old, rustc=old), monkeypatch)
    assert needed(programs(tmp_path / "half", cc="", cargo=now), monkeypatch)
    assert needed(programs(tmp_path / "none", cc=""), monkeypatch)


def test_no_toolchain_is_fetched_that_could_not_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not needed(programs(tmp_path / "no C compiler"), monkeypatch)
    monkeypatch.setenv("ZKGROUP_NO_INSTALL_RUST", "1")
    assert not needed(programs(tmp_path / "turned off", cc=""), monkeypatch)


def test_the_oldest_rust_is_that_of_the_decoder() -> None:
    manifest = ROOT / "pyspark_zkgroup" / "records" / "_native" / "Cargo.toml"
    found = re.search(r'^rust-version = "(\d+)\.(\d+)"$', manifest.read_text(), re.MULTILINE)
    assert found
    assert tuple(map(int, found.groups())) == build_backend.RUST_MIN


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.skipif(shutil.which("cc") is None, reason="the decoder needs a C compiler")
def test_where_rust_does_not_work_a_toolchain_is_fetched(
    clean_python: Callable[[], CleanPython], tmp_path: Path
) -> None:
    checkout(tmp_path / "clone")
    told = clean_python().install(
        "--verbose",
        "--no-deps",
        str(tmp_path / "clone"),
        **{**without_rust(tmp_path / "shims"), "ZKGROUP_NO_INSTALL_RUST": ""},
        XDG_CACHE_HOME=str(tmp_path / "cache"),
        CARGO_TARGET_DIR=f"{NATIVE_BUILD}{os.sep}fetched",
    )
    assert re.search(r"Created wheel .*filename=\S+-cp310-abi3-linux_\w+\.whl", told)
