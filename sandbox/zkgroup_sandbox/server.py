"""One server process: start it, kill it, pause it, resume it; what its log said when it died."""

from __future__ import annotations

import signal
from abc import ABC, abstractmethod
from dataclasses import replace

from pyspark_zkgroup.errors import SandboxError
from zkgroup_sandbox import process
from zkgroup_sandbox.deadline import wait_for
from zkgroup_sandbox.layout import Layout
from zkgroup_sandbox.ports import LOOPBACK
from zkgroup_sandbox.process import Identity, Life
from zkgroup_sandbox.state import SandboxState, ServerRecord, StateFile

START_DEADLINE_S = 90.0
STOP_DEADLINE_S = 20.0
LOG_LINES_SHOWN = 6
LOG_BYTES_READ = 64 * 1024
PORT_TAKEN_MARKS = ("Address already in use", "BindException")


class PortTakenError(SandboxError):
    """The server ended because another program took its port between the choice and the start."""


class Server(ABC):
    """The state file is asked each time: another process may have restarted this server."""

    def __init__(self, name: str, number: int, file: StateFile) -> None:
        self.name = name
        self.number = number
        self.layout = Layout(file.directory)
        self._file = file

    @abstractmethod
    def write_config(self) -> None:
        """Writes what the server reads when it starts."""

    @abstractmethod
    def command(self) -> list[str]: ...

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server does its work, not only listens."""

    def before_start(self) -> None:
        """Waits for what a former life of this server left behind in other servers."""
        return

    def state(self) -> SandboxState:
        return self._file.require()

    def record(self) -> ServerRecord:
        return self.state().server(self.name)

    @property
    def port(self) -> int:
        return self.record().ports["client"]

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int | None:
        identity = self.record().process
        return None if identity is None else identity.pid

    @property
    def life(self) -> Life:
        identity = self.record().process
        return "dead" if identity is None else process.life_of(identity)

    @property
    def alive(self) -> bool:
        return self.life != "dead"

    def start(self, deadline_s: float = START_DEADLINE_S) -> None:
        """Starts the server again on its old port and data, and waits until it answers."""
        if self.alive:
            return
        self.before_start()

        def up() -> bool:
            self.launch()
            try:
                self.wait_up(deadline_s)
            except PortTakenError:
                return False
            return True

        # The port may be held for a moment by another outgoing connection: try again.
        if not wait_for(up, deadline_s, interval_s=0.5):
            raise PortTakenError(
                f"{self.name} cannot start again: another program listens on {self.address}",
                "End that program",
            )

    def launch(self) -> None:
        """Starts the process and notes it; does not wait until it answers."""
        self.write_config()
        identity = process.spawn(
            self.command(),
            log=self.layout.log(self.name),
            pid_file=self.layout.pid_file(self.name),
            cwd=self.layout.root,
        )
        self._note(identity)

    def wait_up(self, deadline_s: float = START_DEADLINE_S) -> None:
        if not wait_for(lambda: self.answers() or not self.alive, deadline_s):
            raise SandboxError.of(
                "no_answer",
                server=self.name,
                address=self.address,
                waited_s=deadline_s,
                log_end=self._log_end(),
                log=self.layout.log(self.name),
            )
        if self.alive:
            return
        ended = self._log_end()
        is_taken = any(mark in ended for mark in PORT_TAKEN_MARKS)
        error = SandboxError.of(
            "ended_at_start", server=self.name, log_end=ended, log=self.layout.log(self.name)
        )
        raise PortTakenError(error.what, error.remedy) if is_taken else error

    def stop(self, deadline_s: float = STOP_DEADLINE_S) -> None:
        """SIGTERM; SIGKILL when the server has not ended by the deadline."""
        identity = self.record().process
        if identity is not None and not process.terminate(identity, deadline_s):
            self.kill()

    def kill(self) -> None:
        """SIGKILL, and waits until the process is gone."""
        identity = self.record().process
        if identity is not None and not process.kill(identity):
            raise SandboxError.of("survives_kill", server=self.name, pid=identity.pid)

    def pause(self) -> None:
        """SIGSTOP: the server keeps its connections but says nothing more."""
        self._signal(signal.SIGSTOP, "paused")

    def resume(self) -> None:
        self._signal(signal.SIGCONT, "running")

    def restart(self) -> None:
        self.stop()
        self.start()

    def _signal(self, number: signal.Signals, wanted: Life) -> None:
        identity = self.record().process
        if identity is None or not process.send(identity, number):
            raise SandboxError.of("not_running", server=self.name, signal=number.name)
        wait_for(lambda: process.life_of(identity) in (wanted, "dead"), 5.0, interval_s=0.01)

    def _note(self, identity: Identity | None) -> None:
        def change(state: SandboxState) -> SandboxState:
            return state.with_server(replace(state.server(self.name), process=identity))

        self._file.update(change)

    def _log_end(self) -> str:
        path = self.layout.log(self.name)
        try:
            with path.open("rb") as log:
                log.seek(max(0, path.stat().st_size - LOG_BYTES_READ))
                lines = log.read().decode("utf-8", "replace").splitlines()
        except OSError:
            return "it wrote no log"
        # A stack trace is long and its cause is in separate lines: leave the frames out.
        lines = [line for line in lines if line.strip() and not line.startswith("\tat ")]
        if not lines:
            return "its log is empty"
        return "its log ends:\n  " + "\n  ".join(lines[-LOG_LINES_SHOWN:]) + "\n"
