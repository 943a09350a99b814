"""Processes of the sandbox, known by process id and start time, so that no other one is ever hit.

A process id alone says nothing: the server dies, the system gives its id to another process, and a
kill by that id hits that process. Id and start time together name one process permanently.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zkgroup_sandbox.deadline import wait_for

Life = Literal["running", "paused", "dead"]

PROC = Path("/proc")
BOOT_ID = PROC / "sys/kernel/random/boot_id"
# The child writes its own id before it becomes the server: a starter that is killed right after
# the fork then leaves a process that the next start can still find.
LAUNCHER = 'echo $$ > "$1" && shift && exec "$@"'

_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True)
class Identity:
    pid: int
    started: str


def spawn(command: Sequence[str], *, log: Path, pid_file: Path, cwd: Path) -> Identity | None:
    """Start a server in its own session; None when it died at once."""
    pid_file.unlink(missing_ok=True)
    with log.open("ab") as out:
        child = subprocess.Popen(
            ["/bin/sh", "-c", LAUNCHER, "sh", str(pid_file), *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            start_new_session=True,
        )
    _children[child.pid] = child
    return identify(child.pid)


def identify(pid: int) -> Identity | None:
    seen = _look(pid)
    return None if seen is None else Identity(pid, seen[0])


def life_of(identity: Identity) -> Life:
    seen = _look(identity.pid)
    if seen is None or seen[0] != identity.started:
        return "dead"
    if seen[1] in "ZX":
        child = _children.pop(identity.pid, None)
        if child is not None:
            child.wait()  # reaped: from here on the id may belong to another process
        return "dead"
    return "paused" if seen[1] in "Tt" else "running"


def send(identity: Identity, number: signal.Signals) -> bool:
    """Sends the signal to that very process; False when it no longer exists."""
    if not hasattr(os, "pidfd_open") or not hasattr(signal, "pidfd_send_signal"):
        if life_of(identity) == "dead":
            return False
        os.kill(identity.pid, number)
        return True
    try:
        handle = os.pidfd_open(identity.pid)
    except ProcessLookupError:
        return False
    try:
        # The handle is taken before the look: whatever gets the id afterwards, it is not hit.
        if life_of(identity) == "dead":
            return False
        signal.pidfd_send_signal(handle, number)
        return True
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)


def wait_dead(identity: Identity, deadline_s: float) -> bool:
    return wait_for(lambda: life_of(identity) == "dead", deadline_s, interval_s=0.02)


def kill(identity: Identity, deadline_s: float = 10.0) -> bool:
    """SIGKILL, and waits until the process is gone; False when it is still there."""
    send(identity, signal.SIGKILL)
    return wait_dead(identity, deadline_s)


def terminate(identity: Identity, deadline_s: float) -> bool:
    """SIGTERM, also to a paused process; False when it is still there at the deadline."""
    send(identity, signal.SIGTERM)
    send(identity, signal.SIGCONT)
    return wait_dead(identity, deadline_s)


def adopt(pid_file: Path, token: str, deadline_s: float) -> Identity | None:
    """The process a killed starter left behind: the id it wrote itself, the token in its command.

    The starter was killed between the fork and its note of the new process. The child continues:
    it writes its id file a moment later, and then becomes the program with the token. Hence the
    short wait for both.
    """
    wait_for(lambda: _is_settled(pid_file, token), deadline_s)
    pid = _read_pid(pid_file)
    identity = None if pid is None else identify(pid)
    if identity is None or token not in _command_line(identity.pid):
        return None
    return identity if life_of(identity) != "dead" else None


def _is_settled(pid_file: Path, token: str) -> bool:
    """Whether waiting changes nothing: it has the token, or has ended."""
    pid = _read_pid(pid_file)
    return pid is not None and (token in _command_line(pid) or identify(pid) is None)


def _read_pid(pid_file: Path) -> int | None:
    try:
        return int(pid_file.read_text())
    except (OSError, ValueError):
        return None


def _look(pid: int) -> tuple[str, str] | None:
    """(start time, state letter) of a process, None when there is no such process."""
    if not BOOT_ID.exists():
        return _look_by_ps(pid)
    try:
        text = (PROC / str(pid) / "stat").read_text()
        boot = BOOT_ID.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    # The command's name is in parentheses and may contain blanks and parentheses itself.
    fields = text[text.rindex(")") + 2 :].split()
    return f"{boot}:{fields[19]}", fields[0]


def _look_by_ps(pid: int) -> tuple[str, str] | None:
    shown = _ps("lstart=", pid), _ps("state=", pid)
    return (shown[0], shown[1][0]) if all(shown) else None


def _command_line(pid: int) -> str:
    try:
        return (
            (PROC / str(pid) / "cmdline")
            .read_bytes()
            .replace(b"\0", b" ")
            .decode("utf-8", "replace")
        )
    except OSError:
        return _ps("command=", pid)


def _ps(column: str, pid: int) -> str:
    try:
        shown = subprocess.run(
            ["ps", "-ww", "-o", column, "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError:
        return ""
    return shown.stdout.strip()
