"""The directory in which a table and its lock are."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyspark_zkgroup.delta.lock import make
from pyspark_zkgroup.errors import DeltaError


def test_a_directory_that_cannot_be_created_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        DeltaError, match=rf"table to {tmp_path}/file/table: Not a directory\. Give"
    ):
        make(tmp_path / "file" / "table")


def test_a_directory_that_cannot_be_written_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    with pytest.raises(DeltaError, match="no right to write"):
        make(tmp_path)


def test_directories_are_created_as_needed(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b")
    make(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
