"""Runs scripts, one at a time or in parallel: their output line by line with times, and status."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

END_S = 120.0
READ_S = 10.0


@dataclass(frozen=True)
class Line:
    at: float
    text: str


@dataclass
class Running:
    """A process and all that it starts, in a session of their own. It is given no input."""

    process: subprocess.Popen[str]
    began: float
    lines: list[Line] = field(default_factory=list)
    _reader: threading.Thread = field(init=False)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as said:
            for text in said:
                self.lines.append(Line(time.monotonic(), text.rstrip("\n")))

    def wait(self, patience_s: float) -> int | None:
        """Its status; None if it had to be killed. Servers that it left behind on purpose may live
        on: they are in sessions of their own.
        """
        try:
            status = self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None
        self._reader.join(READ_S)
        return status

    def end(self) -> int | None:
        """End it, if it has not ended by itself."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        status = self.wait(END_S)
        self.kill()
        return status

    def kill(self) -> None:
        """With all that is left of what it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(READ_S)


def start(command: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Running:
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    return Running(process, began)
