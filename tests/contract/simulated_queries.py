"""Queries in Spark's order whose members are real, and whose servers are the simulation's fakes.

The test triggers them as the world's main actor, so it is straight-line code, and time passes only
while an actor waits.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from random import Random
from typing import Any

from pyspark_zkgroup.kafka.group_coordinator import GroupCoordinator
from pyspark_zkgroup.plan import TaskInput
from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.assign.membership import assigned_membership
from pyspark_zkgroup.protocols.coordinator.membership import coordinator_membership
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.kafka.membership import KafkaMembership
from pyspark_zkgroup.protocols.light.coordinator_search import LightSettings
from pyspark_zkgroup.protocols.light.membership import light_membership
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.protocols.light.stream import Inbox
from pyspark_zkgroup.protocols.zookeeper.membership import zookeeper_membership
from pyspark_zkgroup.security.stream_access import StreamAccess
from pyspark_zkgroup.zk.port import SessionEvent
from tests.fakes.group_cluster import FakeCluster
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.kafka import FakeKafka, FakeView
from tests.fakes.light_stream import FakeStream
from tests.fakes.zookeeper import FakeZookeeper
from tests.harness.spark_order import Checkpoint, Query, Row
from tests.sim.brokered.member import MemberThreads
from tests.sim.drain import SimDrain
from tests.sim.light.office import LightCandidate
from tests.sim.process import Process
from tests.sim.threads import ProcessThreads, SharedClock
from tests.sim.world import World

_A_MOMENT_S = 0.001


class WorldClock:
    """A test's clock: every look takes a moment, or time would not pass without waiting."""

    def __init__(self, world: World) -> None:
        self.world = world

    def monotonic(self) -> float:
        assert self.world.violation is None, "\n".join([self.world.violation, *self.world.crashes])
        return self.world.now

    def sleep(self, seconds: float) -> None:
        # An actor may be waiting for what the test has done meanwhile.
        self.world.wake()
        self.world.pause(max(seconds, _A_MOMENT_S))


class Simulation:
    """One world with one ZooKeeper and one cluster, for one test. Its events are printed at the
    end: pytest shows them if the test fails.
    """

    def __init__(self, seed: int = 1) -> None:
        self.world = World(seed)
        self.world.traced = True
        self.clock = WorldClock(self.world)
        self.rng: Random = self.world.rng
        self.kafka = FakeKafka()
        self.server = FakeZookeeper(self.world, self.rng)
        self.server.make("/brokers/topics")
        self.server.make("/brokers/ids/1", b'{"host":"b1","port":9092,"endpoints":[]}')
        self.server.make("/consumers")
        self._processes = 0

    def process(self, kind: str) -> Process:
        self._processes += 1
        return Process(self.world, self.server, f"{kind}{self._processes}")

    def end(self) -> None:
        print("\n".join(self.world.story))
        self.world.end()


class SimulatedQuery(Query):
    """A query in a separate process, of protocol `zookeeper`; subclasses are for the others."""

    def __init__(
        self, simulation: Simulation, options: dict[str, str], checkpoint: Checkpoint | None
    ) -> None:
        self.simulation = simulation
        self.clock = simulation.clock
        self.process = simulation.process("q")
        super().__init__(options, checkpoint)

    def _new_planner(self) -> Planner:
        process = self.process
        view: Any = FakeView(
            self.simulation.kafka, process.reaches, process.step, process.clock.monotonic
        )
        self.brokers = view
        self.membership = self._new_membership()
        return Planner(self.options, self.membership, view, process.clock, SimDrain())

    def _new_membership(self) -> Any:
        named = self.options.topics.assigned
        new = assigned_membership if named else zookeeper_membership
        return new(self.options, self.brokers, self._environment())

    def _environment(self) -> Environment:
        process = self.process
        return Environment(
            clock=process.clock,
            new_name=lambda _clock: process.name,
            open_store=process.open_store,
        )

    def trigger(self, at: Callable[[str], None] = lambda _step: None) -> int:
        self.process.step("spark trigger")
        return super().trigger(at)

    def stop(self) -> None:
        self.planner.stop()
        self.process.kill()

    def crash(self) -> None:
        """Stop without notice; the servers find out by silence."""
        self.process.kill()

    def _read(self, one: TaskInput) -> list[Row]:
        view: Any = self.brokers
        rows: list[Row] = []
        for part in one.ranges:
            view.read(part.partition, part.range)
            topic, number = part.partition.topic, part.partition.partition
            rows += [(topic, number, n) for n in range(part.range.start, part.range.until)]
        return rows


class CoordinatedQuery(SimulatedQuery):
    def _new_membership(self) -> Any:
        return coordinator_membership(self.options, self.brokers, self._environment())


class LightQuery(SimulatedQuery):
    def __init__(
        self,
        simulation: Simulation,
        options: dict[str, str],
        checkpoint: Checkpoint | None,
        office: LightCandidate,
    ) -> None:
        self.office = office
        super().__init__(simulation, options, checkpoint)

    def _new_membership(self) -> Any:
        process = self.process
        self.threads = ProcessThreads(process.world, process)
        self.shared = SharedClock(process.world, process.clock.rate, 0.0, process.check)
        environment = Environment(
            clock=process.clock,
            new_name=lambda _clock: process.name,
            open_light=self._open_light,
            threads=self.threads,
        )
        return light_membership(self.options, self.brokers, environment)

    def _open_light(
        self, settings: LightSettings, events: queue.SimpleQueue[SessionEvent]
    ) -> LightSession:
        session = LightSession(settings, events, self._open_stream, self.shared, self.threads)
        session.open()
        return session

    def _open_stream(self, _address: str, _access: StreamAccess, inbox: Inbox) -> FakeStream:
        process: Any = self.process
        return FakeStream(process, process.access, self.office.served, inbox, process.name)


class BrokeredQuery(SimulatedQuery):
    def __init__(
        self,
        simulation: Simulation,
        options: dict[str, str],
        checkpoint: Checkpoint | None,
        coordinator: FakeGroupCoordinator,
    ) -> None:
        self.coordinator = coordinator
        super().__init__(simulation, options, checkpoint)

    def _new_membership(self) -> KafkaMembership:
        process = self.process
        self.threads = MemberThreads(process)
        self.kafka = KafkaMembership(
            self.options,
            self.brokers,
            self.connect,
            self.options.protocol.kafka,
            Environment(
                clock=process.clock,
                new_name=lambda _clock: f"{process.name}-x",
                new_condition=self.threads.condition,
                threads=self.threads,
            ),
        )
        return self.kafka

    def connect(self) -> GroupCoordinator:
        process = self.process
        client = int(process.name.strip("q"))
        cluster: Any = FakeCluster(
            *(client, self.coordinator, self.simulation.kafka, process.access),
            *(self.threads.steps, process.reaches, process.clock, process.rng),
        )
        return GroupCoordinator(cluster, self.options.group.id)
