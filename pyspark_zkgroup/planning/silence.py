"""A bound on the driver's silence: `max.poll.interval.ms`.

The planner's ZooKeeper session lives as long as the planner's process, whatever becomes of the
driver's JVM: one that is stopped, hangs, or never ends its batch keeps its partitions for ever. A
thread beside the planner ends the session when no call has come for so long; then all is as after
an expiry. The fences keep what the driver does when it is back from being committed where somebody
else has read on, and its next call finds the session lost and joins again.

The session is only ever ended between two calls. Without that: the thread finds the time over; the
driver's call begins, claims, proves; the thread closes the session; another member claims; the plan
goes out all the same. So whether a call is under way is known under the lock under which the
session is ended, and a call that comes meanwhile waits until that is done.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, Clock

# Leaving waits no longer than this for a session that is being ended this very moment.
_END_WAIT_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class Lock(AbstractContextManager[object], Protocol):
    """In a simulated world one that hands on the turn."""

    def acquire(self, *, timeout: float) -> bool: ...
    def release(self) -> None: ...


class Silence:
    """`give_up` ends the claims and says how many there were. A limit of 0 watches nothing."""

    def __init__(
        self,
        limit_s: float,
        give_up: Callable[[], int],
        clock: Clock = SYSTEM,
        lock: Lock | None = None,
    ) -> None:
        self.limit_s = limit_s
        self._give_up = give_up
        self._clock = clock
        self._lock: Lock = lock or threading.Lock()
        self._inside = 0
        self._since = float("inf")
        self._warned = self._given_up = False
        self.ended = threading.Event()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Around each call of the driver."""
        if not self.limit_s:
            yield
            return
        with self._lock:
            self._inside += 1
            self._warned = self._given_up = False
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                self._since = self._clock.monotonic()

    def look(self) -> float:
        """Warn at half of the time, give up at the whole; then how long to wait for the next look.

        From another thread than the calls, or from none at all.
        """
        half_s = self.limit_s / 2
        with self._lock:
            silent_s = self._clock.monotonic() - self._since
            if self._inside or self._given_up or silent_s < 0 or self.ended.is_set():
                return half_s
            if silent_s < half_s:
                return half_s - silent_s
            if silent_s >= self.limit_s:
                self._given_up = True
                held = self._give_up()
                _log.warning(catalogue.warning("ZKG-103", silent_s=silent_s, held=held))
                return half_s
            if not self._warned:
                self._warned = True
                _log.warning(
                    catalogue.warning("ZKG-113", silent_s=silent_s, left_s=self.limit_s - silent_s)
                )
            return self.limit_s - silent_s

    @contextmanager
    def leaving(self) -> Iterator[None]:
        """Around the planner's own end: never at the same time, and never afterwards."""
        self.ended.set()
        got = bool(self.limit_s) and self._lock.acquire(timeout=_END_WAIT_S)
        try:
            yield
        finally:
            if got:
                self._lock.release()


def watch(silence: Silence) -> None:
    """Look when it is time to, in a thread that does not keep the process alive."""
    if not silence.limit_s:
        return

    def run() -> None:
        wait_s = silence.limit_s / 2
        while not silence.ended.wait(wait_s):
            wait_s = silence.look()

    threading.Thread(target=run, name="zkgroup-silence", daemon=True).start()
