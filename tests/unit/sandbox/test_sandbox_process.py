"""A process is known by id and start time together; a stranger with the same id is never hit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.harness.waiting import wait_until
from zkgroup_sandbox import process
from zkgroup_sandbox.process import Identity

SLEEPER = [sys.executable, "-c", "import time; time.sleep(600)"]
TERM_DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True);"
    " time.sleep(600)",
]


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(SLEEPER) as sleeper:
        yield sleeper
        sleeper.kill()


def spawned(directory: Path, command: list[str]) -> Identity:
    identity = process.spawn(
        command, log=directory / "log", pid_file=directory / "pid", cwd=directory
    )
    assert identity is not None
    return identity


def test_spawned_process_runs_pauses_and_ends(tmp_path: Path) -> None:
    identity = spawned(tmp_path, SLEEPER)
    wait_until(lambda: (tmp_path / "pid").read_text(), 5, "the process to write its id")
    assert int((tmp_path / "pid").read_text()) == identity.pid
    assert process.life_of(identity) == "running"
    assert os.getsid(identity.pid) == identity.pid, "it must survive the terminal of its starter"
    process.send(identity, signal.SIGSTOP)
    wait_until(lambda: process.life_of(identity) == "paused", 5, "SIGSTOP to work")
    assert process.terminate(identity, 5), "SIGTERM must also reach a paused process"
    assert process.life_of(identity) == "dead"


def test_process_deaf_to_sigterm_is_killed(tmp_path: Path) -> None:
    identity = spawned(tmp_path, TERM_DEAF)
    wait_until(lambda: "deaf" in (tmp_path / "log").read_text(), 5, "the signal to be ignored")
    assert not process.terminate(identity, 0.2)
    assert process.kill(identity)
    assert process.life_of(identity) == "dead"


def test_stranger_with_the_same_id_is_left_alone(stranger: subprocess.Popen[bytes]) -> None:
    stale = Identity(stranger.pid, "another boot:1")
    assert process.life_of(stale) == "dead"
    assert not process.send(stale, signal.SIGKILL)
    assert process.kill(stale), "it counts as gone"
    assert stranger.poll() is None


def test_zombie_counts_as_dead(stranger: subprocess.Popen[bytes]) -> None:
    identity = process.identify(stranger.pid)
    assert identity is not None
    os.kill(stranger.pid, signal.SIGKILL)
    wait_until(lambda: process.life_of(identity) == "dead", 5, "the killed process to end")


def test_process_left_by_a_killed_starter_is_adopted_by_its_token(tmp_path: Path) -> None:
    identity = spawned(tmp_path, [*SLEEPER, "-Dtoken=abc/zookeeper-1"])
    wait_until(lambda: (tmp_path / "pid").read_text(), 5, "the process to write its id")
    assert process.adopt(tmp_path / "pid", "-Dtoken=abc/zookeeper-1", 1.0) == identity
    assert process.adopt(tmp_path / "pid", "-Dtoken=abc/zookeeper-2", 1.0) is None
    assert process.kill(identity)
    assert process.adopt(tmp_path / "pid", "-Dtoken=abc/zookeeper-1", 1.0) is None
    assert process.adopt(tmp_path / "no such file", "-Dtoken=abc", 0.0) is None


def test_start_time_by_ps_tells_processes_apart(stranger: subprocess.Popen[bytes]) -> None:
    """What systems without /proc use; `ps` is everywhere but in the smallest containers."""
    if subprocess.run(["/bin/sh", "-c", "command -v ps"], capture_output=True).returncode:
        pytest.skip("no ps here")
    seen = process._look_by_ps(stranger.pid)
    assert seen is not None
    assert seen[1] in "SRD"
    assert process._look_by_ps(4_000_000) is None
