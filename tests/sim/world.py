"""Virtual time, and actors of which exactly one runs at a time.

Members are plain synchronous code, so each actor has a separate thread; a lock per actor passes the
right to run from one to the next. The seed alone decides which is next: each request takes a drawn
time, and the earliest one is next.
"""

from __future__ import annotations

import heapq
import queue
import threading
from collections.abc import Callable
from random import Random
from typing import TypeVar

Event = TypeVar("Event")

_STEPS_MAX = 200_000
_JOIN_S = 20.0
_DONE_MAX = 50
_LAZY_S = 120.0


class KilledError(BaseException):
    """The process that runs this code has ended; nothing it still does has an effect."""


class HaltError(BaseException):
    """The scene is over."""


class Actor:
    def __init__(self, name: str, body: Callable[[], None]) -> None:
        self.name = name
        self.body = body
        self.baton = threading.Lock()
        self.baton.acquire()
        self.thread: threading.Thread | None = None
        self.turn = 0
        self.until: Callable[[], bool] | None = None
        self.done = False
        self.paused_until = 0.0


class World:
    def __init__(self, seed: int) -> None:
        self.rng = Random(seed)
        self.now = 1000.0
        self.story: list[str] = []
        self.violation: str | None = None
        self.over = False
        self.steps = 0
        self.switches = 0
        self._heap: list[tuple[float, int, Actor | None, int, Callable[[], object] | None]] = []
        self._sequence = 0
        self._actors: list[Actor] = []
        self.main = Actor("main", lambda: None)
        self.current = self.main
        self.crashes: list[str] = []
        self.traced = False
        self.lazy_until = float("-inf")
        """While one batch takes hours, every other member does little, or hours would never pass.
        """

    # -- what is traced

    def tell(self, text: str) -> None:
        self.story.append(f"{self.now - 1000.0:9.3f}  {text}")

    def fail(self, text: str) -> None:
        """A promise is broken: the scene ends here."""
        if self.violation is None:
            self.violation = text
            self.tell(f"VIOLATION: {text}")
        self.over = True
        self._push(self.now, self.main)

    # -- time

    @property
    def lazy(self) -> bool:
        return self.now < self.lazy_until

    def at_least(self, seconds: float) -> float:
        """Return this pause, or the longer one that is made while `lazy`."""
        return max(seconds, min(_LAZY_S, self.lazy_until - self.now))

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        self._sequence += 1
        heapq.heappush(self._heap, (self.now + seconds, self._sequence, None, 0, act))

    def _push(self, at: float, actor: Actor) -> None:
        self._sequence += 1
        actor.turn += 1
        heapq.heappush(self._heap, (at, self._sequence, actor, actor.turn, None))

    # -- actors

    def start(self, name: str, body: Callable[[], None], delay: float = 0.0) -> Actor:
        actor = Actor(name, body)
        self._forget_the_done()
        self._actors.append(actor)
        actor.thread = threading.Thread(target=self._run, args=(actor,), name=name, daemon=True)
        actor.thread.start()
        self._push(self.now + delay, actor)
        return actor

    def _forget_the_done(self) -> None:
        if len(self._actors) > _DONE_MAX:
            gone = [a for a in self._actors if a.done and a.thread and not a.thread.is_alive()]
            self._actors = [a for a in self._actors if a not in gone]

    def _run(self, actor: Actor) -> None:
        actor.baton.acquire()
        try:
            if not self.over:
                actor.body()
        except (KilledError, HaltError):
            pass
        except BaseException as error:  # noqa: BLE001 - told, and the scene fails by it
            import traceback

            self.crashes.append("".join(traceback.format_exception(error)))
            self.fail(f"{actor.name} ended with {error!r}")
        actor.done = True
        following = self._next() if not self.over else self.main
        self.current = following
        following.baton.release()

    def latency(self) -> float:
        draw = self.rng.random()
        if draw < 0.9:
            return 0.0005 + draw * 0.004
        if draw < 0.985:
            return self.rng.random() * 0.2
        return self.rng.random() * 1.5

    def pause(self, seconds: float) -> None:
        """The running actor lets time pass."""
        me, at = self.current, self.now + seconds
        heap = self._heap
        if heap and heap[0][0] <= at or self.over or me.paused_until > at:
            self._push(at, me)
            self._switch(me)
            return
        # Nothing else happens before: the result of a push and a pop.
        me.turn += 1
        self.now = at
        self.steps += 1
        if self.steps > _STEPS_MAX:
            self.fail(f"no end after {_STEPS_MAX} steps")
            if me is not self.main:
                raise HaltError

    def wait(self, seconds: float, until: Callable[[], bool]) -> None:
        """Lets time pass, until something is so at the latest."""
        me = self.current
        if until():
            return
        me.until = until
        self._push(self.now + max(0.0, seconds), me)
        self._switch(me)
        me.until = None

    def wake(self) -> None:
        for actor in (self.main, *self._actors):
            if actor.until is not None and not actor.done and actor.until():
                actor.until = None
                self._push(self.now, actor)

    def _switch(self, me: Actor) -> None:
        self.steps += 1
        if self.over and me is not self.main:
            raise HaltError
        if self.steps > _STEPS_MAX:
            self.fail(f"no end after {_STEPS_MAX} steps")
        following = self._next()
        if following is not me:
            self.switches += 1
            self.current = following
            following.baton.release()
            me.baton.acquire()
        if self.over and me is not self.main:
            raise HaltError

    def _next(self) -> Actor:
        while True:
            if self.over:
                return self.main
            if not self._heap:
                self.fail("no actor has anything left to do")
                return self.main
            at, _, actor, turn, act = heapq.heappop(self._heap)
            if actor is not None:
                if actor.done or turn != actor.turn:
                    continue
                if actor.paused_until > max(at, self.now):
                    self._push(actor.paused_until, actor)
                    continue
            self.now = max(self.now, at)
            if act is not None:
                act()
            elif actor is not None:
                return actor

    def end(self) -> None:
        """End every actor that is left, one after another."""
        self.over = True
        for actor in self._actors:
            if not actor.done:
                self.current = actor
                actor.baton.release()
                self.main.baton.acquire()
        for actor in self._actors:
            if actor.thread is not None:
                actor.thread.join(_JOIN_S)


class VirtualClock:
    """A member's clock, with its own rate, and set wrongly."""

    def __init__(self, world: World, rate: float, offset: float, check: Callable[[], None]) -> None:
        self.world = world
        self.rate = rate
        self.offset = offset
        self.check = check
        self.suspended_s = 0.0
        """Return how long the machine has slept. This clock has counted it."""

    def monotonic(self) -> float:
        return self.world.now * self.rate

    def time(self) -> float:
        return 1_700_000_000.0 + self.world.now + self.offset

    def sleep(self, seconds: float) -> None:
        self.check()
        self.world.pause(seconds / self.rate)
        self.check()

    def next_of(self, events: queue.SimpleQueue[Event], timeout_s: float) -> Event | None:
        self.check()
        if events.empty():
            self.world.wait(timeout_s / self.rate, lambda: not events.empty())
            self.check()
        return None if events.empty() else events.get()
