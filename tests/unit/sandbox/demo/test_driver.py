"""A driver of the demo can be asked to leave, be killed with all it started, and ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.harness.waiting import wait_until
from tests.spark.processes import ended
from zkgroup_sandbox.demo.driver import Driver

# Starts a child, as a driver starts its JVM, and writes both ids once SIGTERM would be answered.
PARENT = """
import os, signal, subprocess, sys, time
def leave(*_):
    print("leaving", flush=True)
    os._exit(7)
signal.signal(signal.SIGTERM, leave)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("up", os.getpid(), child.pid, flush=True)
time.sleep(600)
"""
STARTER = """
import os, sys, time
from pathlib import Path
from zkgroup_sandbox.demo.driver import Driver
driver = Driver("d", [sys.executable, "-c", sys.argv[1]], Path(sys.argv[2]), os.environ)
time.sleep(600)
"""


def started(directory: Path) -> Driver:
    return Driver("d", [sys.executable, "-c", PARENT], directory, os.environ)


def pids(log: Path) -> list[int]:
    text = log.read_text() if log.exists() else ""
    return [int(word) for word in text.split()[1:3]] if text.endswith("\n") else []


def test_a_driver_that_must_leave_exits_with_a_separate_status(tmp_path: Path) -> None:
    driver = started(tmp_path)
    try:
        wait_until(lambda: driver.lines("up "), 30, "the driver to run")
        assert driver.status is None
        driver.leave()
        assert wait_until(lambda: driver.status, 30, "the driver to leave") == 7
        assert driver.lines()[-1] == "leaving"
    finally:
        driver.kill()


def test_kill_ends_the_driver_and_what_it_started(tmp_path: Path) -> None:
    driver = started(tmp_path)
    family_ended = ended(wait_until(lambda: pids(driver.log), 30, "the driver to run"))
    driver.kill()
    wait_until(family_ended, 10, "all of them to end")
    assert "leaving" not in driver.log.read_text()
    driver.kill()


def test_a_driver_does_not_outlive_a_killed_starter(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, PARENT, str(tmp_path)]) as starter:
        family = wait_until(lambda: pids(tmp_path / "d.log"), 60, "the driver to run")
        family_ended = ended(family)
        starter.send_signal(signal.SIGKILL)
    wait_until(family_ended, 10, "all of them to end")
