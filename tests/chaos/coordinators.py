"""Two processes of `zkgroup coordinator`, as an operator runs them: one in office, one waiting.

Each has a separate route to ZooKeeper. They end with the process that started them.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.harness.planted_secrets import COORDINATOR_TOKEN
from zkgroup_sandbox.cut import Cut
from zkgroup_sandbox.ports import LOOPBACK, free_ports

PROGRAM = """
import os, sys, threading
def end():
    sys.stdin.read()
    os._exit(1)
threading.Thread(target=end, daemon=True).start()
from pyspark_zkgroup.cli.main import main
main()
"""


class Candidate:
    """Its name is its address, under which it is found in /consumers/coordinator."""

    def __init__(self, cut: Cut, command: Sequence[str], name: str, log: Path) -> None:
        self.name, self.cut = name, cut
        self._command, self._log = command, log
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=log, stderr=log
            )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            with suppress(OSError):
                self._process.stdin.close()

    def pause(self) -> None:
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(number)


class Coordinators:
    def __init__(
        self, directory: Path, zookeepers: Sequence[str], chroot: str, session_s: float
    ) -> None:
        directory.mkdir()
        token = directory / "token"
        token.touch(0o600)
        token.write_text(f"{COORDINATOR_TOKEN}\n", encoding="utf-8")
        self.candidates: list[Candidate] = []
        for port in free_ports(2):
            cut, address = Cut(zookeepers), f"{LOOPBACK}:{port}"
            given = {
                "--zookeeper": cut.addresses + chroot,
                "--name": address,
                "--listen": address,
                "--token-file": str(token),
                "--session-timeout-ms": str(int(session_s * 1000)),
            }
            words = [word for pair in given.items() for word in pair]
            command = [sys.executable, "-c", PROGRAM, "coordinator", *words]
            self.candidates.append(Candidate(cut, command, address, directory / f"{port}.log"))
            self.candidates[-1].start()

    @property
    def addresses(self) -> list[str]:
        return [candidate.name for candidate in self.candidates]

    def heal(self) -> None:
        for candidate in self.candidates:
            candidate.cut.heal()
            candidate.start()
            candidate.resume()

    def close(self) -> None:
        for candidate in self.candidates:
            candidate.kill()
            candidate.cut.close()
