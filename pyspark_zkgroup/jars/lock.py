"""A file lock between processes of one machine."""

from __future__ import annotations

import fcntl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark_zkgroup.errors import SandboxError

LOOK_AGAIN_S = 0.02


@contextmanager
def lock(
    path: Path, *, deadline_s: float = 600.0, busy: Callable[[], None] | None = None
) -> Iterator[None]:
    """Hold the file's lock, which the system takes back by itself when its holder dies."""
    with path.open("a") as handle:
        if not _try_lock(handle.fileno()):
            if busy is not None:
                busy()
            _wait(handle.fileno(), path, deadline_s)
        yield


def is_locked(path: Path) -> bool:
    """Whether a living process holds the lock just now."""
    if not path.exists():
        return False
    with path.open("a") as handle:
        return not _try_lock(handle.fileno())


def _wait(descriptor: int, path: Path, deadline_s: float) -> None:
    ends = time.monotonic() + deadline_s
    while not _try_lock(descriptor):
        if time.monotonic() >= ends:
            raise SandboxError.of("locked", path=path, waited_s=deadline_s)
        time.sleep(LOOK_AGAIN_S)


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
