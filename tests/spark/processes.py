"""Whole families of processes: a driver is a Python process, its JVM, a planner, and workers."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path

from zkgroup_sandbox import process

PROC = Path("/proc")


def family(pid: int) -> list[int]:
    """The process and all that descend from it, parents first."""
    children: dict[int, list[int]] = {}
    for child, parent in _parents().items():
        children.setdefault(parent, []).append(child)
    found = [pid]
    for member in found:
        found += children.get(member, [])
    return found


def find_below(pid: int, word: str) -> int:
    """The first descendant with that word in its command line, or 0."""
    return next(iter(find_all_below(pid, word)), 0)


def find_all_below(pid: int, word: str) -> list[int]:
    return [p for p in family(pid)[1:] if word in _command(p)]


def exists(pid: int) -> bool:
    """Dead processes whose parent has not waited for them do not count."""
    shown = _stat(pid)
    return bool(shown) and shown[0] != "Z"


def ended(pids: Iterable[int]) -> Callable[[], bool]:
    """Return what tells whether these processes, as they are now, have all ended.

    Their numbers do not tell it: a machine that starts many threads gives the number of a process
    that has ended to another within seconds, and that one stays.
    """
    seen = [found for pid in pids if (found := process.identify(pid))]
    return lambda: all(process.life_of(one) == "dead" for one in seen)


def send(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        # 0 and below would mean groups of processes, our own among them.
        if pid <= 1:
            raise ValueError(f"no process of ours: {pid}")
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def _parents() -> dict[int, int]:
    if not (PROC / "self/stat").exists():
        shown = _ps("-A", "-o", "pid=,ppid=")
        return {int(pid): int(parent) for pid, parent in map(str.split, shown)}
    pids = [int(path.name) for path in PROC.iterdir() if path.name.isdecimal()]
    return {pid: int(found[1]) for pid in pids if (found := _stat(pid))}


def _stat(pid: int) -> list[str]:
    """State letter and parent."""
    if not (PROC / "self/stat").exists():
        return " ".join(_ps("-o", "state=,ppid=", "-p", str(pid))).split()
    try:
        # The command's name is in parentheses and may contain blanks and parentheses itself.
        return (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return []


def _command(pid: int) -> str:
    try:
        return (PROC / str(pid) / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return " ".join(_ps("-ww", "-o", "command=", "-p", str(pid)))


def _ps(*arguments: str) -> list[str]:
    shown = subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False)
    return shown.stdout.splitlines()
