"""Gates by member name: requests of a name, and the ends of its lives, are executed one by one."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from weakref import WeakValueDictionary

from pyspark_zkgroup.threads import Threads


class Gates:
    def __init__(self, threads: Threads) -> None:
        self.threads = threads
        self._lock = threading.Lock()
        self._gates: WeakValueDictionary[tuple[str, str], AbstractContextManager[object]]
        self._gates = WeakValueDictionary()

    def of(self, name: tuple[str, str]) -> AbstractContextManager[object]:
        """Hold it while serving a member of that name, or ending a life of it."""
        with self._lock:
            gate = self._gates.get(name)
            if gate is None:
                gate = self._gates[name] = self.threads.gate()
            return gate
