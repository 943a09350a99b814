"""The log ends of what is held, as the brokers answered last."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.model import LogEnd, TopicPartition
from pyspark_zkgroup.planning.outage import Outage
from pyspark_zkgroup.protocols.port import Brokers

# How often an idle query asks the brokers for log ends: Spark's default trigger would ask a hundred
# times a second.
_ASK_EACH_S = 0.25


class KnownEnds:
    """`waits_for_brokers`: a query waits for brokers that are away, and only a new one fails."""

    def __init__(self, brokers: Brokers, clock: Clock) -> None:
        self.brokers = brokers
        self.clock = clock
        self.latest: dict[TopicPartition, int] = {}
        self.waits_for_brokers = False
        self.asked_at: float | None = None
        self._outage = Outage(clock)

    def due_in_s(self) -> float:
        """Return how long an idle query waits before it asks again."""
        if self.asked_at is None:
            return 0.0
        return max(0.0, self.asked_at + _ASK_EACH_S - self.clock.monotonic())

    def ask(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, LogEnd]:
        """Return the log ends, none of them if the brokers do not answer now."""
        self.asked_at = self.clock.monotonic()
        if not partitions:
            return {}
        try:
            ends = self.brokers.log_ends(list(partitions))
        except ServerError as error:
            if not self.waits_for_brokers:
                raise
            self._outage.goes_on(error)
            return {}
        self._outage.ends()
        self.latest = {p: end.offset for p, end in ends.items()}
        self.waits_for_brokers = self.waits_for_brokers or bool(ends)
        return ends
