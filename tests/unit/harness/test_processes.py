"""Whether processes have ended, as chaos runs ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark import processes
from zkgroup_sandbox import process


def show(proc: Path, pid: int, state: str, began: int) -> None:
    """As Linux shows a process: the fields after its name are separated by blanks."""
    (proc / str(pid)).mkdir(parents=True, exist_ok=True)
    fields = [state, "1", *["0"] * 17, str(began), "0"]
    (proc / str(pid) / "stat").write_text(f"{pid} (a (name) of it) {' '.join(fields)}\n")


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "boot_id").write_text("this boot")
    monkeypatch.setattr(process, "BOOT_ID", tmp_path / "boot_id")
    monkeypatch.setattr(process, "PROC", tmp_path)
    return tmp_path


def test_processes_have_ended_when_each_is_gone_or_dead(proc: Path) -> None:
    show(proc, 7, "S", 100)
    show(proc, 8, "S", 101)
    have_ended = processes.ended([7, 8])
    assert not have_ended()
    (proc / "7" / "stat").unlink()
    assert not have_ended()
    show(proc, 8, "Z", 101)
    assert have_ended()


def test_another_process_with_its_number_is_not_the_one_that_has_ended(proc: Path) -> None:
    show(proc, 7, "S", 100)
    have_ended = processes.ended([7])
    show(proc, 7, "S", 250)
    assert have_ended()
