"""Limits how long the driver may be silent: `max.poll.interval.ms`.

The planner's ZooKeeper session lives as long as the planner's process, whatever happens to the
driver's JVM: a JVM that is stopped, hangs, or never ends its batch would keep its partitions
permanently. A thread next to the planner ends the session when no call has come for that long; the
result is the same as after an expiry. What the driver does when it is back is not committed if
another member has read further: the fences prevent it. Its next call finds the session lost and
joins again.

The session is only ever ended between two calls. Otherwise: the thread finds that the time is over;
the driver's call begins, claims, proves; the thread closes the session; another member claims; the
plan is returned all the same. So the lock under which the session is ended also guards whether a
call is under way, and a call that comes meanwhile waits until the session has ended.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import SYSTEM, Clock

# Leaving waits no longer than this for a session that is just being ended.
_END_WAIT_S = 10.0
_log = logging.getLogger("pyspark_zkgroup.planner")


class Lock(AbstractContextManager[object], Protocol):
    """A lock; in a simulated world, one that passes the turn to another thread."""

    def acquire(self, *, timeout: float) -> bool: ...
    def release(self) -> None: ...


class Silence:
    """`give_up` ends the claims and returns how many there were. A limit of 0 means no limit."""

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
        """Wrap each call of the driver."""
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
        """Warn at half of the limit, give up at the limit; return when to look next.

        Called from another thread than the calls, or not at all.
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
        """Wrap the planner's own end: never at the same time as giving up, and never followed by
        it.
        """
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
