"""Topics of one test on real servers, and what was produced to them."""

from __future__ import annotations

import itertools

from zkgroup_sandbox import Sandbox
from zkgroup_sandbox.produce import Produced, Producer

_numbers = itertools.count()


class ProducedTopics:
    """Named after the group that will read them."""

    def __init__(self, sandbox: Sandbox, name: str) -> None:
        self.sandbox = sandbox
        self.name = name
        self.produced: dict[str, Produced] = {}

    def topic(self, partitions: int, name: str = "") -> str:
        topic = name or f"{self.name}-t{next(_numbers)}"
        self.sandbox.create_topic(topic, partitions)
        self.produced[topic] = Produced(topic)
        return topic

    def produce(self, topic: str, each: int) -> None:
        """So many more events to every partition."""
        with Producer(self.sandbox.bootstrap_servers, topic) as producer:
            producer.send(
                {p: [(b"k", b"%d-%d" % (p, n)) for n in range(each)] for p in producer.partitions}
            )
            for p, ranges in producer.produced.ranges.items():
                for start, until in ranges:
                    self.produced[topic].add(p, start, until)
