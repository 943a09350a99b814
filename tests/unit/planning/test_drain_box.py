"""The planner's card below the temporary directory: who finds whom by it."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path

import pytest

from pyspark_zkgroup.planning import drain
from pyspark_zkgroup.planning.drain import DrainBox


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(drain, "directory_of", lambda pid: tmp_path / "boxes" / str(pid))
    return tmp_path / "boxes" / str(os.getppid())


def opened(member: str, load: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    caplog.clear()
    with caplog.at_level(logging.WARNING, "pyspark_zkgroup.planning.planner"):
        DrainBox(member, "g", load).open()
    return [record.getMessage() for record in caplog.records]


def test_two_planners_of_one_load_are_warned_of_each_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert opened("g_a", "one", caplog) == []
    assert opened("g_b", "two", caplog) == []
    (said,) = opened("g_c", "one", caplog)
    assert said.startswith("[ZKG-179] g_c and g_a ")
    assert "g_b" not in said


def test_without_a_load_no_member_is_a_twin(caplog: pytest.LogCaptureFixture) -> None:
    assert opened("g_a", "", caplog) == opened("g_b", "", caplog) == []


def test_one_that_has_died_is_no_twin(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert opened("g_a", "one", caplog) == []
    (card,) = directory.glob("*.json")
    gone = json.loads(card.read_text()) | {"pid": 2**22 + 1}
    card.write_text(json.dumps(gone))
    (directory / "garbage.json").write_text("[]")
    assert opened("g_b", "one", caplog) == []
