"""`zkgroup demo`, as a user runs it: what it says at the end, and that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.waiting import wait_until

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

DEADLINE_S = 1500.0
DEMO = [sys.executable, "-c", "from pyspark_zkgroup.cli.main import main; main()", "demo"]


def obey_ctrl_c() -> None:
    """What a shell starts in the background ignores it, and hands that down to all it starts."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def demo(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """It keeps all it makes below `directory`."""
    place = directory / "tmp"
    place.mkdir()
    with (directory / "out").open("w") as out:
        running = subprocess.Popen(
            [*DEMO, *arguments],
            env={**os.environ, "TMPDIR": str(place)},
            stdout=out,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            preexec_fn=obey_ctrl_c,
        )
        try:
            yield running
        finally:
            if running.poll() is None:
                running.terminate()
                running.wait(60)
            print((directory / "out").read_text())


def lines(directory: Path) -> list[str]:
    return (directory / "out").read_text().splitlines()


def left_running(directory: Path) -> list[str]:
    """Command lines of processes that have to do with the directory."""
    shown = subprocess.run(
        ["ps", "-ww", "-A", "-o", "pid=,command="], capture_output=True, text=True, check=True
    )
    return [line for line in shown.stdout.splitlines() if str(directory) in line]


def has_started_drivers(directory: Path) -> bool:
    return any("org.apache.spark.deploy.SparkSubmit" in line for line in left_running(directory))


@pytest.mark.long
@pytest.mark.parametrize("removed", [0, 1])
def test_it_ends_with_the_count_and_its_status_tells(tmp_path: Path, removed: int) -> None:
    with demo(tmp_path, *["--remove-one-row"] * removed) as running:
        status = running.wait(DEADLINE_S)
    told = lines(tmp_path)
    counted = re.fullmatch(
        r"produced (\d+), in Delta (\d+), missing (\d+), duplicates (\d+)", told[-1]
    )
    assert counted is not None, told[-1]
    produced, in_delta, missing, duplicates = map(int, counted.groups())
    assert produced >= 100_000
    assert (in_delta, missing, duplicates) == (produced - removed, removed, 0)
    assert status == removed
    story = "\n".join(told)
    for part in ("6 + 6", "4 + 4 + 4", "member-1 leaves", "member-2 is killed"):
        assert part in story
    assert left_running(tmp_path) == []
    assert list((tmp_path / "tmp").iterdir()) == []


def test_ctrl_c_ends_all_it_started_and_removes_its_directory(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        wait_until(lambda: has_started_drivers(tmp_path), 120, "Spark drivers to start")
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
    assert lines(tmp_path)[-1] == "interrupted; everything is stopped"
    wait_until(lambda: not left_running(tmp_path), 30, "the last process to end")
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.long
def test_what_it_started_does_not_outlive_its_kill(tmp_path: Path) -> None:
    with demo(tmp_path) as running:
        wait_until(lambda: has_started_drivers(tmp_path), 120, "Spark drivers to start")
        running.kill()
        assert running.wait(60) == -signal.SIGKILL
    wait_until(lambda: not left_running(tmp_path), 60, "the last process to end")
