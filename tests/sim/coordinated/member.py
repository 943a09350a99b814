"""A driver whose member a coordinator assigns partitions; a candidate may run in it, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark_zkgroup.planning.planner import Planner
from pyspark_zkgroup.protocols.coordinator.membership import coordinator_membership
from pyspark_zkgroup.protocols.environment import Environment
from tests.fakes.kafka import FakeKafka
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.coordinated.office import Looker, Office
from tests.sim.judge import Judge
from tests.sim.query import Driver, Query
from tests.sim.world import World


class PlannerBeside(Planner):
    """`resign` comes after the member has left, as in the reader's `stop`."""

    resign: Callable[[], None] = staticmethod(lambda: None)

    def stop(self) -> None:
        super().stop()
        self.resign()


class CoordinatedDriver(Driver):
    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        judge: Judge,
        query: Query,
        ended: Callable[[Driver], None],
        looker: Looker,
    ) -> None:
        super().__init__(world, server, kafka, judge, query, ended)
        self.office: Office | None = None
        if self.options.protocol.is_candidate:
            timeout_ms = self.options.zookeeper.timeout_ms
            self.office = Office(world, self.process, kafka, timeout_ms, looker)
        self.membership: Any = coordinator_membership(
            self.options,
            self.view,
            Environment(
                clock=self.process.clock,
                new_name=lambda _clock: self.name,
                open_store=self.process.open_store,
            ),
            self.in_kafka,
        )
        self.planner = PlannerBeside(
            self.options,
            self.membership,
            self.view,
            self.process.clock,
            self.drain,
            self.checkpoint.is_finished,
        )
        if self.office is not None:
            self.planner.resign = self.office.resign
            self.office.begin()
