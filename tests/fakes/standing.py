"""A world in which time passes only when it is looked at: for the fakes' own contract tests."""

from __future__ import annotations

import heapq
import itertools
import queue
from collections.abc import Callable
from random import Random

from pyspark_zkgroup.zk.session import SessionSettings
from tests.fakes.session import Access, FakeSession
from tests.fakes.store import FakeStore
from tests.fakes.zookeeper import FakeZookeeper

_A_LOOK_S = 0.05


class LookedAt:
    """Each look lets a little time pass, so that a test that waits for a condition gets there."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    @property
    def now(self) -> float:
        return self._now

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self._now + seconds, next(self._numbers), act))

    def step(self, what: str) -> None:
        self.let_pass(0.001)

    def wake(self) -> None:
        """No actor sleeps here."""

    def wait(self, seconds: float, until: Callable[[], bool]) -> None:
        ends = self._now + seconds
        while self._now < ends and not until():
            self.let_pass(0.01)

    def let_pass(self, seconds: float) -> None:
        ends = self._now + seconds
        while self._due and self._due[0][0] <= ends:
            self._now, _, act = heapq.heappop(self._due)
            act()
        self._now = ends


class LookedAtSession(FakeSession):
    """For tests that look at it instead of asking it something."""

    world: LookedAt

    @property
    def alive(self) -> bool:
        self.world.let_pass(_A_LOOK_S if self.id else 0.0)
        return super().alive

    def lease_left_s(self) -> float:
        self.world.let_pass(_A_LOOK_S)
        return super().lease_left_s()


class FakeEnsemble:
    """One fake server and the sessions of a test."""

    def __init__(self) -> None:
        self.world = LookedAt()
        self.server = FakeZookeeper(self.world, Random(1))
        self.access: dict[int, Access] = {}

    def open(self, timeout_ms: int, chroot: str, connection_timeout_ms: int = 5000) -> FakeSession:
        settings = SessionSettings("fake:2181", chroot, timeout_ms, connection_timeout_ms)
        access = Access()
        session = LookedAtSession(
            self.server, self.world, access, Random(2), settings, queue.SimpleQueue()
        )
        session.open()
        self.access[session.id] = access
        return session

    def store(self, session: FakeSession) -> FakeStore:
        return FakeStore(session)
