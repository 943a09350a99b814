"""A candidate that serves light members: the real one with its desk, at an address of the world."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence

from pyspark_zkgroup.group.ops import NodeVersion, Op
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Command
from pyspark_zkgroup.protocols.light.conversation import Conversation, Outbox
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import Hello
from pyspark_zkgroup.protocols.light.seat import Seat
from pyspark_zkgroup.zk.store import Store
from tests.fakes.kafka import FakeKafka
from tests.fakes.light_stream import Arriving, FakeStream
from tests.fakes.session import Access, FakeSession
from tests.fakes.store import FakeStore
from tests.sim.coordinated.office import Looker, Office
from tests.sim.process import Process
from tests.sim.threads import ProcessThreads, SharedClock
from tests.sim.world import KilledError, World

_FOR_EVER_S = 1e9


class Hearer(Looker):
    """Is notified of messages on streams, and of the member that a request is executed for."""

    def heard(self, office: str, life: int) -> None: ...
    def said(self, consumer: str, command: Command) -> None: ...
    def answered(self, consumer: str, answer: Answer) -> None: ...
    def speaker(self, hello: Hello) -> object: ...
    def executing(self, speaker: object) -> None: ...


class WatchedDesk(LightDesk):
    def __init__(self, world: World, process: Process, hearer: Hearer) -> None:
        self.world = world
        self.name = process.name
        self.hearer = hearer
        threads = ProcessThreads(world, process)
        clock = SharedClock(world, process.access.clock_rate, 0.0, process.check)
        super().__init__(("b1:9092",), clock=clock, threads=threads)
        self.is_served = True

    def tell(self, group: str, consumer: str, command: Command) -> bool:
        told = super().tell(group, consumer, command)
        if told:
            self.hearer.said(consumer, command)
        return told

    def heard(self, seat: Seat) -> bool:
        counts = super().heard(seat)
        if counts and seat.client.life:
            self.hearer.heard(self.name, seat.client.life)
        return counts

    def settle(self, seat: Seat, life: int) -> int:
        settled = super().settle(seat, life)
        if settled:
            self.hearer.heard(self.name, settled)
        return settled

    def answered(self, seat: Seat, answer: Answer) -> None:
        if seat.client.life and answer.life == seat.client.life:
            self.hearer.answered(seat.client.hello.consumer, answer)
        super().answered(seat, answer)
        self.world.wake()


class SpokenStore(FakeStore):
    """Who has asked for each of its transactions is known when it is executed, however late."""

    def __init__(self, session: FakeSession, office: LightCandidate) -> None:
        super().__init__(session)
        self.office = office

    def _execution(self, operations: Sequence[Op]) -> Callable[[], list[NodeVersion | int | None]]:
        execute = super()._execution(operations)
        office = self.office
        hello = office.speaking.get(office.world.current)
        speaker = None if hello is None else office.hearer.speaker(hello)

        def spoken() -> list[NodeVersion | int | None]:
            office.hearer.executing(speaker)
            try:
                return execute()
            finally:
                office.hearer.executing(None)

        return spoken


class LightCandidate(Office):
    """Listens as `zkgroup coordinator --listen` does. `access`: its way to ZooKeeper; `streams`:
    the way of its members to it.
    """

    def __init__(
        self,
        world: World,
        process: Process,
        kafka: FakeKafka,
        timeout_ms: int,
        hearer: Hearer,
        address: str,
    ) -> None:
        self.address = address
        self.hearer = hearer
        self.speaking: dict[object, Hello] = {}
        desk = self.light_desk = WatchedDesk(world, process, hearer)
        super().__init__(world, process, kafka, timeout_ms, hearer, desk, address)
        self.threads: ProcessThreads = desk.threads  # type: ignore[assignment]
        self.served = _Listener(self)

    def _store_of(self, session: FakeSession) -> Store:
        return SpokenStore(session, self)


class _Listener:
    def __init__(self, office: LightCandidate) -> None:
        self.office = office
        self.access: Access = office.process.access

    def hear(self, stream: FakeStream) -> None:
        self.office.threads.start(stream.serve, f"serves {stream.name}")

    def next_of(self, arrived: queue.SimpleQueue[Arriving]) -> Arriving:
        office = self.office
        while arrived.empty():
            office.steps.wait(_FOR_EVER_S, lambda: not arrived.empty())
        office.steps.check()
        return arrived.get()

    def greet(self, hello: Hello, outbox: Outbox, caller: Caller) -> Conversation | None:
        office = self.office
        if office.process.driver_dead:
            raise KilledError
        office.speaking[office.world.current] = hello
        return office.light_desk.greet(hello, outbox, caller)
