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


def files(directory: Path) -> set[str]:
    return {path.suffix[1:] for path in directory.glob("*")}


def test_stop_sees_at_any_time_whether_a_batch_is_under_way(directory: Path) -> None:
    box = DrainBox("g_a", "g")
    box.open()
    for settled in (True, True, False, False, True):
        box.settle(settled)
        assert ("settled" in files(directory)) is settled


def test_the_planner_drains_once_it_is_asked_and_answers_once(directory: Path) -> None:
    box = DrainBox("g_a", "g")
    box.open()
    assert not box.requested()
    asked = directory / f"{box.name}.drain"
    asked.write_text(json.dumps({"finished": {"version": 2}}))
    assert box.requested()
    assert box.finished({"version": 2})
    assert not box.finished({"version": 3})
    asked.write_text("[]")
    assert not box.finished({"version": 2})
    box.acknowledge()
    assert "drained" in files(directory)
    (directory / f"{box.name}.drained").write_text("seen")
    box.acknowledge()
    assert (directory / f"{box.name}.drained").read_text() == "seen"
    box.ask_driver("an operator")
    assert (directory / f"{box.name}.asked").read_text() == "an operator"


def test_nothing_of_it_is_left_when_the_planner_ends(directory: Path) -> None:
    box = DrainBox("g_a", "g")
    box.open()
    box.settle(True)
    box.acknowledge()
    box.close()
    assert not directory.exists()
    (directory.parent / "x").mkdir()
    directory.mkdir()
    (directory / f"{box.name}.drain").write_text(json.dumps({"finished": {"version": 2}}))
    assert not box.requested()
    assert not box.finished({"version": 2})
    box.settle(False)
    for act in (box.acknowledge, box.close, lambda: box.settle(True), lambda: box.ask_driver("x")):
        act()
    assert files(directory) == {"drain"}
