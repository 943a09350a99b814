"""A process that can be killed, paused, cut off or stopped by a signal, at any of its steps."""

from __future__ import annotations

import queue
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from pyspark_zkgroup.zk.session import SessionEvent, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.fakes.session import Access, FakeSession
from tests.fakes.store import FakeStore
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.world import Actor, KilledError, VirtualClock, World


@dataclass
class Trigger:
    """Acts at the first step that matches, after `skip` of them have gone by."""

    matches: Callable[[str], bool]
    skip: int
    act: Callable[[], None]


class Process:
    """The planner process of one driver, and what of the driver ends with it.

    `inside`: a call of Spark's is being answered, so the process's death or a SIGTERM takes effect
    at once; otherwise Spark's own steps continue until the next call.
    """

    def __init__(self, world: World, server: FakeZookeeper, name: str) -> None:
        self.world = world
        self.server = server
        self.name = name
        self.rng: Random = world.rng
        self.access = Access(clock_rate=1.0 + (self.rng.random() - 0.5) * 0.04)
        self.clock = VirtualClock(
            world, self.access.clock_rate, self.rng.uniform(-500, 500), self.check
        )
        self.reaches_kafka = True
        self.kafka_refusals = 0
        self.planner_dead = self.driver_dead = False
        self.sigterm = self.leaving = self.interrupted = False
        self.inside = False
        self.paused_at = float("-inf")
        self.triggers: list[Trigger] = []
        self.actors: list[Actor] = []
        # Threads of the planner's process other than its own. The SIGTERM must reach that one.
        self.apart: set[Actor] = set()
        self.on_fault: Callable[[str], None] = lambda _reason: None
        self.on_session: Callable[[int], None] = lambda _session: None

    # -- what the fakes ask

    @property
    def now(self) -> float:
        return self.world.now

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self.world.after(seconds, act)

    def wake(self) -> None:
        self.world.wake()

    def step(self, what: str) -> None:
        self.check()
        world = self.world
        world.pause(world.latency())
        if world.traced:
            world.tell(f"    {self.name}: {what}")
        if self.triggers:
            self.pull(what)
        self.check()

    def wait(self, seconds: float, until: Callable[[], bool]) -> None:
        self.check()
        self.world.wait(seconds, until)
        self.check()

    def check(self) -> None:
        """End the calling actor here if the process has ended."""
        is_apart = self.world.current in self.apart
        if self.driver_dead or (self.planner_dead and (self.inside or is_apart)):
            raise KilledError
        if self.sigterm and self.inside and not self.leaving and not is_apart:
            self.leaving = True
            raise SystemExit(0)

    def reaches(self) -> bool:
        if not self.reaches_kafka:
            self.kafka_refusals += 1
        return self.reaches_kafka

    def open_store(
        self, settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]
    ) -> Store:
        session = FakeSession(self.server, self, self.access, self.rng, settings, events)
        session.open()
        self.on_session(session.id)
        return FakeStore(session)

    # -- what befalls it

    def kill(self, *, planner_only: bool = False) -> None:
        self.on_fault("the planner was killed" if planner_only else "the driver was killed")
        self.planner_dead = True
        self.driver_dead |= not planner_only
        self.access.die()
        self._rouse()

    def terminate(self) -> None:
        self.sigterm = True
        self._rouse()

    def pause(self, seconds: float) -> None:
        until = self.world.now + seconds
        self.paused_at = self.world.now
        for actor in self.actors:
            actor.paused_until = max(actor.paused_until, until)
        self.access.pause(True)

        def resume() -> None:
            if self.world.now >= until - 1e-9 and self.access.paused:
                self.paused_at = self.world.now
                self.access.pause(False)

        self.world.after(seconds, resume)

    def suspend(self, seconds: float) -> None:
        """The whole machine sleeps: a clock that does not count that time falls behind."""
        self.pause(seconds)
        self.clock.suspended_s += seconds

    def cut(self, seconds: float, *, silent: bool) -> None:
        self.access.set_way("silent" if silent else "refused")
        self.world.after(seconds, lambda: self.access.set_way("up"))

    def cut_kafka(self, seconds: float) -> None:
        self.reaches_kafka = False

        def heal() -> None:
            self.reaches_kafka = True

        self.world.after(seconds, heal)

    def bring_back(self) -> None:
        """Nothing befalls it any more, and it reaches all servers."""
        self.triggers.clear()
        self.reaches_kafka = True
        if self.access.way != "up":
            self.access.set_way("up")

    def _rouse(self) -> None:
        for actor in self.actors:
            if not actor.done:
                actor.until = None
                self.world._push(self.world.now, actor)

    def at(self, point: str, act: Callable[[], None], skip: int = 0) -> None:
        """Act at the next step whose name begins so, or the one after `skip` of them."""
        self.triggers.append(Trigger(lambda what: what.startswith(point), skip, act))

    def pull(self, what: str) -> None:
        for trigger in list(self.triggers):
            # What a trigger does may take time, in which another thread's step pulls the next one.
            if trigger in self.triggers and trigger.matches(what):
                if trigger.skip > 0:
                    trigger.skip -= 1
                else:
                    self.triggers.remove(trigger)
                    trigger.act()


class ThreadSteps:
    """What another thread of a process asks of the world. A SIGTERM reaches the planner only."""

    def __init__(self, process: Process, name: str) -> None:
        self.process = process
        self.world = process.world
        self.name = name

    @property
    def now(self) -> float:
        return self.world.now

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self.world.after(seconds, act)

    def wake(self) -> None:
        self.world.wake()

    def step(self, what: str) -> None:
        self.check()
        self.world.pause(self.world.latency())
        if self.world.traced:
            self.world.tell(f"    {self.process.name} {self.name}: {what}")
        if self.process.triggers:
            self.process.pull(f"{self.name} {what}")
        self.check()

    def wait(self, seconds: float, until: Callable[[], bool]) -> None:
        self.check()
        self.world.wait(seconds, until)
        self.check()

    def check(self) -> None:
        if self.process.driver_dead or self.process.planner_dead:
            raise KilledError
