"""A driver whose member has no ZooKeeper: it reaches its coordinator over streams of the world."""

from __future__ import annotations

import queue
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.plan import TaskInput, TaskRange
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.membership import light_membership
from pyspark_zkgroup.protocols.light.rules.identity import INCARNATION_LENGTH_MIN
from pyspark_zkgroup.protocols.light.rules.messages import Commit, Read, Reply, ToCoordinator
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.stream import Inbox
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import DisconnectedError, SessionEvent
from tests.fakes.kafka import FakeKafka, Pieces
from tests.fakes.light_stream import FakeStream
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.coordinated.member import CoordinatedDriver
from tests.sim.light.office import LightCandidate
from tests.sim.query import Batch, Driver, Query
from tests.sim.threads import ProcessThreads, SharedClock
from tests.sim.world import World

if TYPE_CHECKING:
    from tests.sim.light.life_checks import LifeChecks

_SLOW_S_MAX = 20.0


class WatchedSession(LightSession):
    """Each request is a step of its process, at which something may befall it."""

    forced = False

    def __init__(
        self,
        settings: LightSettings,
        events: queue.SimpleQueue[SessionEvent],
        driver: LightDriver,
    ) -> None:
        self.driver = driver
        clock, threads = driver.shared_clock, driver.threads
        super().__init__(settings, events, driver.open_stream, clock, threads)
        self.replica = driver.process.server.leader

    @property
    def multi_at(self) -> float:
        return self.driver.multi_at

    @property
    def connected(self) -> bool:
        """A member that is refused, and plans on by its lease, may stop without a commit."""
        connected = super().connected
        if not connected:
            self.driver.process.access.refusals += 1
        return connected

    def open(self) -> None:
        self.driver.process.step("open")
        try:
            super().open()
        except ServerError:
            self.driver.process.access.refusals += 1
            raise

    def ask(self, make: Callable[[int], ToCoordinator]) -> Reply:
        process = self.driver.process
        process.step(_shown(make(0)))
        try:
            reply = super().ask(make)
        except DisconnectedError:
            process.access.refusals += 1
            raise
        if process.rng.random() < 0.15:
            process.step("answer")
        return reply

    def close(self) -> None:
        super().close()
        self.driver.world.wake()

    def expire(self) -> None:
        """Only its coordinator could: its stream breaks instead."""
        if self.driver.streams:
            self.driver.streams[-1].break_()


def _shown(message: ToCoordinator) -> str:
    if isinstance(message, Commit):
        shown = [f"{type(op).__name__} {op.path}" for t in message.transactions for op in t]
        return "multi " + ", ".join(shown[:8])
    if isinstance(message, Read):
        first = f" {message.paths[0]}" if message.paths else ""
        return f"{message.what}{first}"
    return type(message).__name__.lower()


class ShortBatches(Driver):
    """Streams beat all the time, so a batch of hours would take as long here."""

    def _run(self, batch: Batch, tasks: list[TaskInput]) -> None:
        self._shorten()
        super()._run(batch, tasks)

    def _fetch(self, one: TaskRange) -> Pieces:
        found = super()._fetch(one)
        self._shorten()
        return found

    def _sleep(self, seconds: float) -> None:
        # So no other member needs to do little meanwhile.
        self.world.lazy_until = float("-inf")
        super()._sleep(seconds)

    def _shorten(self) -> None:
        self.query.slow_next_s = min(self.query.slow_next_s, _SLOW_S_MAX)


class ToldDriver(ShortBatches, CoordinatedDriver):
    """A member with its own session, in a group of members that have none."""


class LightDriver(ShortBatches):
    """`pseudo` stands for it where it is not registered, and owns nothing."""

    office = None

    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        checks: LifeChecks,
        query: Query,
        ended: Callable[[Driver], None],
        listening: Callable[[], Mapping[str, LightCandidate]],
    ) -> None:
        super().__init__(world, server, kafka, checks, query, ended)
        self.listening = listening
        self.streams: list[FakeStream] = []
        self.multi_at = float("-inf")
        self.threads = ProcessThreads(world, self.process)
        rate = self.process.access.clock_rate
        self.shared_clock = SharedClock(world, rate, 0.0, self.process.check)
        # Never by chance: a seed tells one story.
        self.incarnation = self.name.ljust(INCARNATION_LENGTH_MIN, ".")
        self.membership: Any = light_membership(
            self.options,
            self.view,
            Environment(
                clock=self.process.clock,
                new_name=lambda _clock: self.name,
                new_secret=lambda: self.incarnation,
                open_light=self._open_light,
                threads=self.threads,
            ),
        )
        self.pseudo = checks.enter(self)
        self.planner = Planner(
            self.options,
            self.membership,
            self.view,
            self.process.clock,
            self.drain,
            self.checkpoint.is_finished,
        )

    def _open_light(
        self, settings: LightSettings, events: queue.SimpleQueue[SessionEvent]
    ) -> LightSession:
        session = WatchedSession(settings, events, self)
        session.open()
        self.process.on_session(self.pseudo)
        return session

    def _tell(self, text: str) -> None:
        if self.world.traced:
            self.world.tell(f"    {text}")

    def open_stream(self, address: str, _access: StreamAccess, inbox: Inbox) -> FakeStream:
        office = self.listening().get(address)
        served = None if office is None or office.ended else office.served
        around: Any = self.process
        stream = FakeStream(around, self.process.access, served, inbox, self.name, self._tell)
        self.streams = [*self.streams[-3:], stream]
        return stream
