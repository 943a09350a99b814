"""A scene of a group that a broker coordinates in which nothing happens by chance."""

from __future__ import annotations

from typing import Any

from pyspark_zkgroup.kafka.member_settings import COOPERATIVE_STICKY
from pyspark_zkgroup.model import TopicPartition
from tests.sim.brokered.member import BrokeredDriver
from tests.sim.brokered.scene import BrokeredScene
from tests.sim.query import Query
from tests.sim.trace import TOPIC, Trace


class BrokeredTrace(Trace, BrokeredScene):
    def __init__(self, **scene: Any) -> None:
        super().__init__(session_ms=6000, **scene)
        self._coordinate(first_join_s=0.0)
        self.max_poll_ms = 300_000
        self.assignor = COOPERATIVE_STICKY

    def query(self, name: str, **given: Any) -> Query:
        made = super().query(name, **given)
        for option in ("zookeeper.connect", "zookeeper.session.timeout.ms"):
            del made.options[option]
        made.options |= {
            "protocol": "kafka",
            "session.timeout.ms": str(self.config.session_ms),
            "partition.assignment.strategy": self.assignor,
        }
        return made

    def begin(self, query: Query) -> BrokeredDriver:
        driver = super().begin(query)
        assert isinstance(driver, BrokeredDriver)
        return driver

    def __enter__(self) -> BrokeredTrace:
        return self

    def committed(self, number: int = 0) -> int | None:
        stored = self.coordinator.offsets.get(TopicPartition(TOPIC, number))
        return None if stored is None else stored.offset
