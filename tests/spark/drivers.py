"""Starting drivers as processes, and every way to end one or its query.

A driver takes seconds to start, so tests lease warm ones from a pool and give back those that they
have left alive. A job that is started on another driver with the same directory is the restart of
its query.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.harness.waiting import wait_until
from tests.spark.job import Job
from tests.spark.processes import exists, family, find_below, send

ROOT = Path(__file__).resolve().parents[2]
START_DEADLINE_S = 120.0
END_DEADLINE_S = 60.0
PLANNER_MODULE = "python_streaming_source_runner"
# The heap of one driver, and a JVM that does without threads for collecting and compiling much.
SUBMIT = (
    "--driver-memory 512m"
    ' --driver-java-options "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Djava.io.tmpdir={tmp}"'
    " pyspark-shell"
)


class Driver:
    """One process with its JVM; see driver.py for what it does."""

    def __init__(self, directory: Path, number: int) -> None:
        self.name = f"driver-{number}"
        self.log = directory / f"{self.name}.log"
        self._events = directory / f"{self.name}.events"
        self._events.touch()
        # Short: the paths of Unix sockets lie below it.
        self._tmp = Path(tempfile.mkdtemp(prefix="zkd"))
        self._read_to = 0
        self._found: list[dict[str, Any]] = []
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.spark.driver", str(self._events)],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.jvm = 0

    def _environment(self) -> dict[str, str]:
        return {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": SUBMIT.format(tmp=self._tmp),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self._tmp),
            "TMPDIR": str(self._tmp),
        }

    # -- what it says

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """Since the last run() of a job."""
        with self._events.open("rb") as file:
            file.seek(self._read_to)
            whole = file.read().rpartition(b"\n")[0]
        if whole:
            self._read_to += len(whole) + 1
            self._found += [json.loads(line) for line in whole.splitlines()]
        return [e for e in self._found if not kind or e["event"] == kind]

    def wait_ready(self) -> None:
        if self.jvm:
            return

        def ready() -> list[dict[str, Any]]:
            assert self.process.poll() is None, f"{self.name} ended, see {self.log}"
            return self.events("ready")

        said = wait_until(ready, START_DEADLINE_S, f"{self.name} to start")[0]
        self.jvm = int(said["jvm"])

    @property
    def progress(self) -> list[dict[str, Any]]:
        return [e["progress"] for e in self.events("progress")]

    @property
    def member(self) -> str:
        """The consumer id of the query that runs, or ran last; "" before its first progress."""
        for progress in reversed(self.progress):
            reported = progress["sources"][0].get("latestOffset")
            if reported:
                offset = json.loads(reported) if isinstance(reported, str) else reported
                return str(offset["member"])
        return ""

    def warnings(self) -> list[str]:
        """What zkgroup itself has warned of."""
        text = self.log.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines() if " WARNING zkgroup: " in line]

    # -- its input

    def run(self, job: Job) -> None:
        self.events()
        self._found.clear()
        self._say(job.to_json())

    def sigterm(self) -> None:
        """As a job is stopped: stop_on_sigterm drains the query. The driver itself lives on."""
        self.process.send_signal(signal.SIGTERM)

    def ask(self) -> dict[str, Any]:
        """What `progress` and `progress_frame` say of the running query."""
        before = len(self.events("asked"))
        self._say("progress")

        def answered() -> list[dict[str, Any]]:
            return self.events("asked")[before:]

        return wait_until(answered, END_DEADLINE_S, "the driver to tell its progress")[0]

    def serve_metrics(self) -> int:
        """Returns the port that they are served at."""
        self._say("metrics")
        said = wait_until(lambda: self.events("metrics"), END_DEADLINE_S, "the port of metrics")
        return int(said[0]["port"])

    @property
    def metrics_file(self) -> Path:
        return self._events.with_suffix(".prom")

    def bare_stop(self) -> None:
        self._say("stop")

    def wait_ended(self, deadline_s: float = END_DEADLINE_S) -> dict[str, Any]:
        """The end of the query, with the error it ended by, or ""."""

        def ended() -> list[dict[str, Any]]:
            assert self.process.poll() is None, f"{self.name} ended, see {self.log}"
            return self.events("ended")

        return wait_until(ended, deadline_s, f"the query of {self.name} to end")[0]

    def _say(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    # -- what is done to it

    @property
    def alive(self) -> bool:
        return self.process.poll() is None and bool(self.jvm) and exists(self.jvm)

    @property
    def planner(self) -> int:
        """The planner's process: a child of the JVM."""
        return find_below(self.jvm, PLANNER_MODULE)

    def kill(self) -> None:
        """All of it at once, as when the machine goes down: no process is left to close the
        session.
        """
        # First none of them may run any more, so that none notices the death of another.
        self.pause()
        send(family(self.process.pid), signal.SIGKILL)
        self.process.wait()

    def kill_jvm(self) -> None:
        send([self.jvm], signal.SIGKILL)

    def terminate_jvm(self) -> None:
        """What a cluster manager does to a driver: no code of the job runs, only shutdown hooks."""
        send([self.jvm], signal.SIGTERM)

    def kill_planner(self) -> None:
        send([self.planner], signal.SIGKILL)

    def pause(self) -> None:
        """All of it; looked for twice, since one may be made while the others are stopped."""
        for _ in range(2):
            send(family(self.process.pid), signal.SIGSTOP)

    def pause_jvm(self) -> None:
        """The planner lives on, and so does its ZooKeeper session."""
        send([self.jvm], signal.SIGSTOP)

    def resume(self) -> None:
        send(family(self.process.pid), signal.SIGCONT)

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill()
        if self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        shutil.rmtree(self._tmp, ignore_errors=True)


class Drivers:
    """The pool."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._made = 0
        self._warm: list[Driver] = []
        self._leased: list[Driver] = []

    def lease(self, count: int) -> list[Driver]:
        """Return that many without a query. They start in parallel."""
        while len(self._warm) < count:
            self._warm.append(Driver(self.directory, self._made))
            self._made += 1
        leased = [self._warm.pop(0) for _ in range(count)]
        self._leased += leased
        for driver in leased:
            driver.wait_ready()
        return leased

    def warm(self, count: int) -> None:
        """Begin to start drivers that a later lease() will ask for."""
        while len(self._warm) < count:
            self._warm.append(Driver(self.directory, self._made))
            self._made += 1

    def give_back(self, drivers: Iterable[Driver]) -> None:
        """Those whose query has ended serve the next test."""
        for driver in drivers:
            self._leased.remove(driver)
            if driver.alive and (not driver.events("started") or driver.events("ended")):
                self._warm.append(driver)
            else:
                driver.close()

    def close(self) -> None:
        for driver in [*self._warm, *self._leased]:
            driver.close()
