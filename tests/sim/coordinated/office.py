"""A candidate in the world of virtual time: the real one, over fake sessions, as an actor.

It runs in a member's driver process but with a separate session, or alone as `zkgroup coordinator`
does. Its steps are distinguished from the member's by their name.
"""

from __future__ import annotations

import queue
import traceback
from dataclasses import dataclass, field

from pyspark_zkgroup.errors import AccessError, ServerError
from pyspark_zkgroup.protocols.coordinator.candidate import Candidate, Watching
from pyspark_zkgroup.protocols.coordinator.rules.candidacy import Candidacy
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.zk.session import SessionEvent, SessionLostError, SessionSettings
from pyspark_zkgroup.zk.store import Store
from tests.fakes.kafka import FakeKafka, FakeView
from tests.fakes.session import Access, FakeSession
from tests.fakes.store import FakeStore
from tests.sim.process import Process, ThreadSteps
from tests.sim.world import VirtualClock, World

_RESIGN_S = 10.0


@dataclass
class LeadingAccess(Access):
    """A process's way to ZooKeeper, where it has more than one session: a fault of the process
    affects all of them, while an answer is lost to one.
    """

    beside: list[Access] = field(default_factory=list)

    def set_way(self, way: str) -> None:
        super().set_way(way)  # type: ignore[arg-type]
        for access in self.beside:
            access.set_way(way)  # type: ignore[arg-type]

    def pause(self, paused: bool) -> None:
        super().pause(paused)
        for access in self.beside:
            access.pause(paused)

    def die(self) -> None:
        super().die()
        for access in self.beside:
            access.die()

    def changed(self) -> None:
        super().changed()
        for access in self.beside:
            access.changed()


class Looker:
    """Is notified of what candidates do."""

    def stood_up(self, session: int, name: str) -> None: ...
    def takes_office(self, name: str) -> None: ...


class Office(Candidate):
    """`ended`: its thread is over."""

    def __init__(
        self,
        world: World,
        process: Process,
        kafka: FakeKafka,
        timeout_ms: int,
        looker: Looker,
        desk: LightDesk | None = None,
        address: str | None = None,
    ) -> None:
        self.world = world
        self.process = process
        self.looker = looker
        self.steps = ThreadSteps(process, "candidate")
        rate = process.access.clock_rate
        self.access = Access(clock_rate=rate)
        process.access = LeadingAccess(clock_rate=rate, beside=[self.access])
        clock = VirtualClock(world, rate, 0.0, self.steps.check)
        view = FakeView(kafka, process.reaches, self.steps.step, clock.monotonic)
        super().__init__(
            SessionSettings("zk1:2181", "", timeout_ms, 6000),
            Candidacy(process.name, address),
            desk or LightDesk(clock=clock),
            Watching(view.partitions, 3.0),
            Environment(clock=clock, open_store=self._open),
        )
        self.ended = False

    @property
    def term(self) -> Term | None:
        return self._term

    @term.setter
    def term(self, term: Term | None) -> None:
        """A term under the same epoch begins with nothing known, like any other."""
        self._term = term
        if term is not None:
            self.looker.takes_office(self.candidacy.name)

    def begin(self) -> None:
        name = f"{self.process.name} candidate"
        self.process.actors.append(self.world.start(name, self._body))

    def _body(self) -> None:
        try:
            self.run()
        finally:
            self.ended = True
            self.world.wake()

    def resign(self) -> None:
        """As `close`, which joins a thread."""
        self.close()
        self.world.wake()
        self.world.wait(_RESIGN_S, lambda: self.ended)

    def expire(self) -> None:
        if self.store is not None:
            self.store.session.expire()  # type: ignore[attr-defined]

    def _one_session(self) -> None:
        """What the candidate would only log, and recover from, is a fault that is looked for."""
        try:
            super()._one_session()
        except (AccessError, ServerError, SessionLostError):
            raise
        except Exception as error:
            self.world.crashes.append("".join(traceback.format_exception(error)))
            self.world.fail(f"the candidate {self.candidacy.name} fell by {error!r}")
            raise

    def _open(self, settings: SessionSettings, events: queue.SimpleQueue[SessionEvent]) -> Store:
        process = self.process
        session = FakeSession(
            process.server, self.steps, self.access, process.rng, settings, events
        )
        session.open()
        self.looker.stood_up(session.id, process.name)
        return self._store_of(session)

    def _store_of(self, session: FakeSession) -> Store:
        return FakeStore(session)
