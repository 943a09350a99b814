"""The processes of one member: a Python driver, its JVM, the planner below it, and workers."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.chaos.job import Job
from tests.chaos.verdict import triggered
from tests.harness.waiting import wait_until
from tests.spark.processes import ended, exists, family, find_below, send
from zkgroup_sandbox.demo.spark_jobs import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
PLANNER_MODULE = "python_streaming_source_runner"
HEAP_MB = 512
JVM_FLAGS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Djava.io.tmpdir={scratch}"
END_DEADLINE_S = 90.0
SAID = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) (?:INFO|WARNING) zkgroup: (.*)$")
_OPENED = re.compile(r"Opened session \S+ with .+ for (\S+) of group ")


class Grown:
    """A file that others append to, read by whole lines, each once."""

    def __init__(self, path: Path) -> None:
        self._path, self._read_to = path, 0

    def lines(self) -> list[str]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_to)
                whole = file.read().rpartition(b"\n")[0]
        except FileNotFoundError:
            return []
        if not whole:
            return []
        self._read_to += len(whole) + 1
        return whole.decode("utf-8", "replace").splitlines()


class Process:
    """One member, over all the lives of its driver."""

    def __init__(self, job: Job, jars: Sequence[Path]) -> None:
        self.name, self.job, self._jars = job.name, job, jars
        self.events: list[dict[str, Any]] = []
        self.said: list[tuple[float, str]] = []
        self._new_events, self._new_lines = Grown(job.events), Grown(job.log)
        self._process: subprocess.Popen[bytes] | None = None
        self._born = 0
        # Used by the thread that reports the status, and by those that wait.
        self._looking = threading.Lock()

    # -- its life

    def start(self) -> None:
        """Does not wait until the driver reads."""
        for directory in (self.job.sink, self.job.scratch):
            directory.mkdir(parents=True, exist_ok=True)
        self.look()
        self._born = len(self.events)
        with self.job.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.chaos.driver", self.job.to_json()],
                cwd=ROOT,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_CONF_DIR")}
        scratch = str(self.job.scratch)
        settings = {
            **SETTINGS,
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1",
            "spark.driver.extraJavaOptions": JVM_FLAGS.format(scratch=scratch),
            "spark.python.unix.domain.socket.dir": scratch,
        }
        flags = [
            # As in every cluster, a task may fail three times before its query does.
            *("--master", f"local[{self.job.cores},4]"),
            *("--driver-memory", f"{HEAP_MB}m"),
            *(("--jars", ",".join(map(str, self._jars))) if self._jars else ()),
            *(word for k, v in settings.items() for word in ("--conf", f"{k}={v}")),
            "pyspark-shell",
        ]
        return {
            **kept,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": shlex.join(flags),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": scratch,
            "TMPDIR": scratch,
        }

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def jvm(self) -> int:
        ready = [e for e in self.look()[self._born :] if e["event"] == "ready"]
        return int(ready[-1]["jvm"]) if ready else 0

    @property
    def planner(self) -> int:
        """0 while there is none."""
        jvm = self.jvm
        return find_below(jvm, PLANNER_MODULE) if jvm and exists(jvm) else 0

    # -- what it says

    def look(self) -> list[dict[str, Any]]:
        with self._looking:
            self.events += [e for line in self._new_events.lines() if (e := _event(line))]
            for line in self._new_lines.lines():
                if found := SAID.match(line):
                    # Without a zone: the member writes local time, and so it is read.
                    at = datetime.fromisoformat(found[1].replace(",", ".")).timestamp()
                    self.said.append((at, found[2]))
        return self.events

    def last(self, kind: str) -> dict[str, Any] | None:
        """The newest such event of the present life."""
        found = [e for e in self.look()[self._born :] if e["event"] == kind]
        return found[-1] if found else None

    @property
    def reads(self) -> bool:
        """Whether its present query has finished a batch."""
        started, progress = self.last("started"), self.last("progress")
        if not self.alive or started is None or progress is None:
            return False
        return bool(triggered(progress) > started["at"] and self.planner)

    # -- what is done to it

    def kill(self) -> None:
        """All of it at once, as when the machine goes down."""
        assert self._process is not None
        # First none of them may run any more, so that none notices the death of another.
        self.pause()
        send(family(self._process.pid), signal.SIGKILL)
        self._reap()

    def terminate(self) -> None:
        """SIGTERM to each of its processes, as a container is ended."""
        assert self._process is not None
        every = family(self._process.pid)
        others_ended = ended(every[1:])
        send(every, signal.SIGTERM)
        wait_until(others_ended, END_DEADLINE_S, f"{self.name} to end")
        self._reap()

    def ask_to_stop(self) -> None:
        """pyspark_zkgroup.stop() by the driver itself."""
        assert self._process is not None
        self._process.send_signal(signal.SIGUSR1)

    def drain(self) -> None:
        """Ask, and return when it has ended."""
        assert self._process is not None
        family_ended = ended(family(self._process.pid))
        self.ask_to_stop()
        wait_until(lambda: not self.alive, END_DEADLINE_S, f"{self.name} to stop its query")
        wait_until(family_ended, END_DEADLINE_S, f"{self.name} to end")
        self._reap()

    def pause(self) -> None:
        """All of it; looked for twice, since one may be made while the others are stopped."""
        assert self._process is not None
        for _ in range(2):
            send(family(self._process.pid), signal.SIGSTOP)

    def resume(self) -> None:
        if self.alive:
            assert self._process is not None
            send(family(self._process.pid), signal.SIGCONT)

    def close(self) -> None:
        if self.alive:
            self.kill()
        shutil.rmtree(self.job.scratch, ignore_errors=True)

    def _reap(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.wait()
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        # Of its end a driver that was killed says nothing itself.
        self.look()
        self.events.append({"event": "gone", "at": now()})


def _event(line: str) -> dict[str, Any]:
    """Empty where a driver was killed in the middle of the line."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return found


def registered(said: Iterable[tuple[float, str]]) -> list[str]:
    """The consumer ids for which these lines of a log report a session."""
    return [found[1] for _, text in said if (found := _OPENED.match(text))]


def consumer_of(progress: dict[str, Any]) -> str:
    """Of the query that has reported this; "" where it was not yet a member, as in a replay."""
    try:
        return str(json.loads(progress["latest"])["member"])
    except (ValueError, TypeError, KeyError):
        return ""


def now() -> float:
    """Seconds since 1970: events come from several processes of this machine."""
    return time.time()
