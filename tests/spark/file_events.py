"""What happens to the files of some directories, as Linux reports it (inotify): a test learns
within a millisecond how far a process is, without a hook in it.
"""

from __future__ import annotations

import ctypes
import os
import re
import select
import struct
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MODIFIED, CLOSED, MOVED_TO, CREATED = 0x2, 0x8, 0x80, 0x100
_ALL = MODIFIED | CLOSED | MOVED_TO | CREATED
_OVERFLOW = 0x4000
_HEADER = struct.Struct("iIII")
_READ_BYTES = 2**16


@dataclass(frozen=True)
class FileEvent:
    directory: Path
    mask: int
    name: str


class FileEvents:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._file = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._file < 0:
            raise OSError(ctypes.get_errno(), "inotify_init1 failed")
        self._directories: dict[int, Path] = {}

    def watch(self, directory: Path) -> None:
        found = self._libc.inotify_add_watch(self._file, os.fsencode(directory), _ALL)
        if found < 0:
            raise OSError(ctypes.get_errno(), f"inotify_add_watch of {directory} failed")
        self._directories[found] = directory

    def forget(self) -> None:
        """Drop what has happened so far."""
        while list(self._read(0.0)):
            pass

    def wait(
        self, directories: Collection[Path], mask: int, name: re.Pattern[str], within_s: float
    ) -> FileEvent:
        """Return the next such event; AssertionError if there is none in time. What has happened
        before it is dropped.
        """
        ends = time.monotonic() + within_s
        while (left := ends - time.monotonic()) > 0:
            for event in self._read(left):
                if (
                    event.directory in directories
                    and event.mask & mask
                    and name.fullmatch(event.name)
                ):
                    return event
        raise AssertionError(f"no file {name.pattern} within {within_s:.0f} s in {directories}")

    def close(self) -> None:
        os.close(self._file)

    def _read(self, within_s: float) -> Iterator[FileEvent]:
        if not select.select([self._file], [], [], within_s)[0]:
            return
        data = os.read(self._file, _READ_BYTES)
        at = 0
        while at < len(data):
            number, mask, _, length = _HEADER.unpack_from(data, at)
            at += _HEADER.size
            name = data[at : at + length].rstrip(b"\0")
            at += length
            # After an overflow events are missing; the next ones of their kind come.
            if not mask & _OVERFLOW:
                yield FileEvent(self._directories[number], mask, os.fsdecode(name))
