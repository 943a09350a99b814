"""Threads that are passed in, so that a simulation can run one at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Running(Protocol):
    """A thread that was started."""

    def join(self, timeout: float | None = None) -> None: ...


class Threads(Protocol):
    def start(self, run: Callable[[], None], name: str) -> Running:
        """It ends with the process, if not earlier."""

    def gate(self) -> AbstractContextManager[object]:
        """A lock that may be held while a server is waited for."""


class SystemThreads:
    def start(self, run: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        return thread

    def gate(self) -> AbstractContextManager[object]:
        return threading.Lock()


SYSTEM_THREADS: Threads = SystemThreads()
