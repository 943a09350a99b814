"""Groups on the simulation's fakes.

On real servers: tests/harness/group.py, tests/harness/light.py and tests/kafka/members.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark_zkgroup.group.ops import SetData
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import TopicPartition
from tests.contract.simulated_queries import (
    BrokeredQuery,
    CoordinatedQuery,
    LightQuery,
    SimulatedQuery,
    Simulation,
)
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.zookeeper import FakeZookeeper
from tests.harness.spark_order import Checkpoint, Query
from tests.harness.waiting import wait_until
from tests.sim.coordinated.office import Looker, Office
from tests.sim.light.office import Hearer, LightCandidate
from zkgroup_sandbox.produce import Produced

SESSION_MS = 2000
_ADDRESS = "o1:1"
_LEAST = {
    "group.id": "g",
    "startingOffsets": "earliest",
    "kafka.bootstrap.servers": "b1:9092",
}


class SimulatedTopics:
    name = "g"

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.produced: dict[str, Produced] = {}

    def topic(self, partitions: int) -> str:
        kafka = self.simulation.kafka
        topic = f"t{len(self.produced)}"
        kafka.make_topic(topic, partitions)
        self.simulation.server.make(f"/brokers/topics/{topic}", kafka.topic_node(topic))
        self.produced[topic] = Produced(topic)
        return topic

    def produce(self, topic: str, each: int) -> None:
        kafka = self.simulation.kafka
        for partition in kafka.partitions_of(topic):
            start = kafka.logs[partition].latest
            kafka.produce(partition, each)
            self.produced[topic].add(partition.partition, start, start + each)


class Operator:
    """Writes nodes without being a member."""

    def __init__(self, server: FakeZookeeper) -> None:
        self.server = server

    def exists(self, path: str) -> bool:
        return path in self.server.leader.nodes

    def set(self, path: str, data: bytes) -> None:
        self.server.write(SetData(path, data, -1))

    def create(self, path: str, data: bytes, *, makepath: bool) -> None:
        assert makepath
        self.server.make(path, data)

    def delete(self, path: str) -> None:
        self.server.delete_tree(path)


class SimulatedGroup(SimulatedTopics):
    """Its nodes are in the fake ZooKeeper."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.client = Operator(simulation.server)
        self.paths = GroupPaths(self.name)

    def options(self, topic: str = "", **changes: str) -> dict[str, str]:
        return {
            **_LEAST,
            "zookeeper.connect": "zk1:2181",
            **({"subscribe": topic} if topic else {}),
            **_spelt(changes, session="zookeeper.session.timeout.ms"),
        }

    def query_of(self, options: dict[str, str], checkpoint: Checkpoint | None = None) -> Query:
        return SimulatedQuery(self.simulation, options, checkpoint)

    def query(self, topic: str, checkpoint: Checkpoint | None = None) -> Query:
        return self.query_of(self.options(topic), checkpoint)

    def owners(self, topic: str) -> dict[int, bytes]:
        return self._below(f"{self.paths.owners}/{topic}")

    def expire(self, query: Query) -> None:
        """End the session at the server; the query finds out later."""
        session: Any = query.membership.keeper.session
        session.expire()

    def offset_path(self, topic: str, partition: int) -> str:
        return self.paths.offset(TopicPartition(topic, partition))

    def offsets(self, topic: str) -> dict[int, bytes]:
        return self._below(f"{self.paths.offsets}/{topic}")

    def _below(self, above: str) -> dict[int, bytes]:
        replica = self.simulation.server.leader
        names = sorted(replica.kids.get(above, ()), key=int)
        return {int(name): replica.nodes[f"{above}/{name}"].data for name in names}


class SimulatedToldGroup(SimulatedGroup):
    """One candidate, which is in office from the start."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.office = self._new_office()
        self.office.begin()
        wait_until(lambda: self.office.in_office, 15, "an election", clock=simulation.clock)

    def query_of(self, options: dict[str, str], checkpoint: Checkpoint | None = None) -> Query:
        return CoordinatedQuery(self.simulation, options, checkpoint)

    def _new_office(self) -> Office:
        simulation = self.simulation
        process = simulation.process("c")
        return Office(simulation.world, process, simulation.kafka, SESSION_MS, Looker())


class SimulatedLightGroup(SimulatedToldGroup):
    office: LightCandidate

    def options(self, topic: str = "", **changes: str) -> dict[str, str]:
        spelt = _spelt(changes, session="session.timeout.ms")
        return {**_LEAST, "coordinator.addresses": _ADDRESS, "subscribe": topic, **spelt}

    def query_of(self, options: dict[str, str], checkpoint: Checkpoint | None = None) -> Query:
        return LightQuery(self.simulation, options, checkpoint, self.office)

    def _new_office(self) -> LightCandidate:
        simulation = self.simulation
        process = simulation.process("c")
        return LightCandidate(
            simulation.world, process, simulation.kafka, SESSION_MS, Hearer(), _ADDRESS
        )


class SimulatedBrokersGroup(SimulatedTopics):
    """A fake broker coordinates it."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.queries: list[BrokeredQuery] = []
        self.coordinator = FakeGroupCoordinator(
            simulation.world, simulation.kafka, first_join_s=0.0
        )

    def query(
        self,
        topic: str,
        checkpoint: Checkpoint | None = None,
        *,
        changes: Mapping[str, str],
    ) -> BrokeredQuery:
        options = {
            **_LEAST,
            "protocol": "kafka",
            "rebalance.wait.ms": "300",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "200",
            "subscribe": topic,
            **_spelt(changes),
        }
        self.queries.append(BrokeredQuery(self.simulation, options, checkpoint, self.coordinator))
        return self.queries[-1]


def _spelt(changes: Mapping[str, str], **more: str) -> dict[str, str]:
    names = {"starting": "startingOffsets", **more}
    return {names.get(name, name.replace("_", ".")): value for name, value in changes.items()}
