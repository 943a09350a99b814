"""The ZooKeeper that members of the scale bench meet: a fake one, or one of the sandbox."""

from __future__ import annotations

import queue
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.protocols.light.conversation import Greet
from pyspark_zkgroup.zk.session import Session, SessionEvent, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.bench.light_counter import Carrier, Direct, OverGrpc
from tests.fakes.session import Access, FakeSession
from tests.fakes.standing import LookedAt
from tests.fakes.store import FakeStore
from tests.fakes.zookeeper import FakeZookeeper
from zkgroup_sandbox import Sandbox

_TRAVEL_S = 0.3
_ROUND_S = 0.005
_QUIET_S = 0.5


@dataclass
class Ground:
    """Where stores come from, how light members are reached, how time is let pass for what travels,
    and after how many rounds in which nothing happens nothing is under way any more.
    """

    open: Callable[[queue.SimpleQueue[SessionEvent]], Store]
    carry: Callable[[Greet], Carrier]
    pass_by: Callable[[], None]
    quiet_rounds: int


@contextmanager
def fake() -> Iterator[Ground]:
    world = LookedAt()
    server = FakeZookeeper(world, Random(1))
    rng = Random(2)

    def opened(events: queue.SimpleQueue[SessionEvent]) -> Store:
        settings = SessionSettings("fake:2181", "", 30_000, 5000)
        session = FakeSession(server, world, Access(), rng, settings, events)
        session.open()
        return FakeStore(session)

    yield Ground(opened, Direct, lambda: world.let_pass(_TRAVEL_S), quiet_rounds=2)


@contextmanager
def real() -> Iterator[Ground]:
    with tempfile.TemporaryDirectory() as directory:
        sandbox = Sandbox(Path(directory), brokers=0)
        sandbox.start()
        sessions: list[Session] = []

        def opened(events: queue.SimpleQueue[SessionEvent]) -> Store:
            settings = SessionSettings(sandbox.zookeeper_connect, "", 30_000, 15_000)
            session = Session(settings, events)
            session.open()
            sessions.append(session)
            return Store(session)

        try:
            quiet_rounds = int(_QUIET_S / _ROUND_S)
            yield Ground(opened, OverGrpc, lambda: SYSTEM.sleep(_ROUND_S), quiet_rounds)
        finally:
            for session in sessions:
                session.close()
            sandbox.kill()
