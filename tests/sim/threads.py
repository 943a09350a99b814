"""Threads of one process in the world of virtual time: actors, and gates that hand on the turn."""

from __future__ import annotations

import queue
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TypeVar

from tests.sim.process import Process
from tests.sim.world import Actor, KilledError, VirtualClock, World

Event = TypeVar("Event")

_FOR_EVER_S = 1e9
_LOOK_S = 0.05


class ProcessThreads:
    """They end with their process, and rest while it is paused."""

    def __init__(self, world: World, process: Process) -> None:
        self.world = world
        self.process = process

    def start(self, run: Callable[[], None], name: str) -> ProcessThread:
        actor = self.world.start(f"{self.process.name} {name}", run)
        rests = [a.paused_until for a in self.process.actors]
        actor.paused_until = max(rests, default=0.0)
        self.process.actors.append(actor)
        self.process.apart.add(actor)
        return ProcessThread(self, actor)

    def gate(self) -> Gate:
        return Gate(self)


class ProcessThread:
    def __init__(self, threads: ProcessThreads, actor: Actor) -> None:
        self.threads = threads
        self.actor = actor

    def join(self, timeout: float | None = None) -> None:
        """The end of an actor wakes no thread, so it is looked at now and then."""
        world = self.threads.world
        until = world.now + (timeout or _FOR_EVER_S)
        while not self.actor.done and world.now < until:
            self.threads.process.check()
            world.wait(_LOOK_S, lambda: self.actor.done)
            self.threads.process.check()


class Gate(AbstractContextManager[object]):
    def __init__(self, threads: ProcessThreads) -> None:
        self.threads = threads
        self.held = False

    def __enter__(self) -> object:
        world = self.threads.world
        while self.held:
            world.wait(_FOR_EVER_S, lambda: not self.held)
            process = self.threads.process
            if process.driver_dead or process.planner_dead:
                raise KilledError
        self.held = True
        return self

    def __exit__(self, *_raised: object) -> None:
        self.release()

    def acquire(self, *, timeout: float) -> bool:
        world = self.threads.world
        world.wait(timeout, lambda: not self.held)
        if self.held:
            return False
        self.held = True
        return True

    def release(self) -> None:
        self.held = False
        self.threads.world.wake()


class SharedClock(VirtualClock):
    """Of a process with several threads: what one has put into a queue wakes the others."""

    def sleep(self, seconds: float) -> None:
        self.world.wake()
        super().sleep(seconds)

    def next_of(self, events: queue.SimpleQueue[Event], timeout_s: float) -> Event | None:
        self.world.wake()
        return super().next_of(events, timeout_s)
