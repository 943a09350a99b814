"""Lets a driver ask its planner to drain, through files in a private directory of the machine.

The planner is a child of the driver's JVM, which gives it no other input. The directory is
`<temp>/zkgroup-<uid>/<pid of the JVM>/`, with one file for each running planner:

- `<name>.drain` asks the planner to plan nothing more. It may hold the end of the newest batch that
  Spark has reported as finished.
- `<name>.drained` is the answer: everything that is finished is committed.
- `<name>.settled` exists while no batch is under way.
- `<name>.asked` is for the driver: an operator wants the query to end.
"""

from __future__ import annotations

import json
import logging
import os
import stat
import tempfile
from pathlib import Path
from typing import Any, Protocol

from pyspark_zkgroup import catalogue

_log = logging.getLogger("pyspark_zkgroup.planner")


def directory_of(jvm_pid: int) -> Path:
    return Path(tempfile.gettempdir()) / f"zkgroup-{os.getuid()}" / str(jvm_pid)


def is_private(directory: Path) -> bool:
    """Return whether only this user can write there: another user's files must have no effect."""
    try:
        found = os.lstat(directory.parent)
    except OSError:
        return False
    return (
        stat.S_ISDIR(found.st_mode)
        and found.st_uid == os.getuid()
        and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


class Drain(Protocol):
    """The planner's view of requests to drain."""

    def open(self) -> None:
        """Announce that the planner runs."""

    def requested(self) -> bool:
        """Return whether to plan nothing more."""

    def finished(self, end: dict[str, Any]) -> bool: ...

    def acknowledge(self) -> None:
        """Report that everything that is finished is committed."""

    def settle(self, settled: bool) -> None: ...

    def ask_driver(self, by: str) -> None:
        """Report that an operator wants the query to end."""

    def close(self) -> None: ...


class DrainBox:
    """The planner's side. It is opened at the first boundary, and closed when the planner
    leaves."""

    def __init__(self, member: str, group: str, load: str = "") -> None:
        self.name = f"{member}.{os.getpid()}"
        self.member = member
        self.group = group
        self.load = load
        self._directory = directory_of(os.getppid())
        self._open = self._settled = False

    def open(self) -> None:
        parent = self._directory.parent
        try:
            parent.mkdir(mode=0o700, exist_ok=True)
            if not is_private(self._directory):
                return
            self._directory.mkdir(mode=0o700, exist_ok=True)
            card = {"member": self.member, "group": self.group, "load": self.load}
            self._file("json").write_text(json.dumps({**card, "pid": os.getpid()}))
            self._open = True
        except OSError:
            # Without the directory stop() cannot drain and reports it; reading continues.
            self._open = False
            return
        # Look only after the own file exists: of two that start at once, at least one sees the
        # other.
        if twins := self._twins():
            _log.warning(
                catalogue.warning(
                    "ZKG-179", member=self.member, others=", ".join(twins), group=self.group
                )
            )

    def requested(self) -> bool:
        return self._open and self._file("drain").exists()

    def finished(self, end: dict[str, Any]) -> bool:
        """Return whether the driver has seen Spark report the batch that ends at `end`."""
        if not self._open:
            return False
        try:
            return bool(json.loads(self._file("drain").read_text()).get("finished") == end)
        except (OSError, ValueError, AttributeError):
            return False

    def acknowledge(self) -> None:
        if self._open and not self._file("drained").exists():
            self._file("drained").write_text("")

    def settle(self, settled: bool) -> None:
        """Record whether all that was read is committed: if so, stop need not wait for a
        boundary.
        """
        if not self._open or settled == self._settled:
            return
        if not settled:
            self._file("settled").unlink(missing_ok=True)
        else:
            try:
                self._file("settled").write_text("")
            except OSError:
                # A stop then waits for the next boundary; reading continues.
                return
        self._settled = settled

    def ask_driver(self, by: str) -> None:
        if not self._open:
            return
        try:
            self._file("asked").write_text(by)
        except OSError:
            # The query then ends with an error that says the same.
            return

    def close(self) -> None:
        if not self._open:
            return
        self._open = False
        for kind in ("json", "drain", "drained", "settled", "asked"):
            self._file(kind).unlink(missing_ok=True)
        try:
            self._directory.rmdir()
        except OSError:
            return

    def _twins(self) -> list[str]:
        """Return other planners of the same load(): Spark makes one for each side of a
        self-join.
        """
        found = []
        for path in sorted(self._directory.glob("*.json")):
            try:
                card = json.loads(path.read_text())
                is_twin = self.load and card.get("load") == self.load and card["member"]
                if is_twin and path != self._file("json"):
                    os.kill(int(card["pid"]), 0)
                    found.append(str(card["member"]))
            except (OSError, ValueError, KeyError, AttributeError):
                continue  # deleted meanwhile, or not ours
        return found

    def _file(self, kind: str) -> Path:
        return self._directory / f"{self.name}.{kind}"
