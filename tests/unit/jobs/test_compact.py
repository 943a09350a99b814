"""jobs/compact.py as a whole: it needs no Spark."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from deltalake import DeltaTable

from pyspark_zkgroup.delta.direct.committing import Commits
from tests.unit.delta.ingest_scene import offsets, prepared, taken
from tests.unit.jobs.loading import job


def test_small_files_are_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    into = prepared(tmp_path)
    for start in range(0, 9, 3):
        taken(
            Commits(into), into, {0: range(start, start + 3), 1: range(start // 3, start // 3 + 1)}
        )
    given = ["--table", into.directory, "--files-min", "3", "--vacuum-hours", "168"]
    before = signal.getsignal(signal.SIGINT)
    assert job("compact").main(given) == 0
    assert signal.getsignal(signal.SIGINT) is before
    merged, removed = capsys.readouterr().out.splitlines()
    assert merged.startswith("compact: merged 6 files into 2 in ")
    assert removed == f"compact: removed 0 files from {into.directory}"
    assert len(DeltaTable(into.directory).file_uris()) == 2
    assert offsets(into) == {0: list(range(9)), 1: [0, 1, 2]}


def test_a_failure_is_one_line_and_status_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert job("compact").main(["--table", str(tmp_path / "none")]) == 1
    assert "compact: failed: [ZKG-012] There is no Delta table at" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("hours", "longest", "is_refused"),
    [("24", [], True), ("25", [], False), ("168", ["--longest-batch-hours", "168"], True)],
)
def test_a_retention_below_the_longest_batch_is_refused(
    hours: str, longest: list[str], is_refused: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--table", "t", "--vacuum-hours", hours, *longest]
    if not is_refused:
        assert job("compact")._arguments(given).vacuum_hours == int(hours)
        return
    with pytest.raises(SystemExit):
        job("compact")._arguments(given)
    assert f"--vacuum-hours {hours} could remove files of a batch" in capsys.readouterr().err
