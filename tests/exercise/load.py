"""Records for all cases at their pace, from one thread."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from zkgroup_sandbox.produce import Producer, json_event

_EVERY_S = 0.5


@dataclass
class _Flow:
    producer: Producer
    per_second: Mapping[int, float]
    began: float = field(default_factory=time.monotonic)
    sent: dict[int, int] = field(default_factory=dict)
    number: int = 0

    def send(self) -> None:
        since_s = time.monotonic() - self.began
        events = {}
        for partition, rate in self.per_second.items():
            due = int(since_s * rate) - self.sent.get(partition, 0)
            self.sent[partition] = self.sent.get(partition, 0) + due
            events[partition] = [json_event(self.number + n) for n in range(due)]
            self.number += due
        self.producer.send(events)


class Load:
    """`error` is what has ended it before `stop()`, if anything did."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap = bootstrap_servers
        self._flows: list[_Flow] = []
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._thread.start()

    def add(self, topic: str, per_second: Mapping[int, float]) -> None:
        """So many records a second into each partition."""
        flow = _Flow(Producer(self._bootstrap, topic), per_second)
        with self._lock:
            self._flows.append(flow)

    def sent(self, topic: str, partition: int) -> int:
        """The end of its log, as all records are these."""
        with self._lock:
            flows = [flow for flow in self._flows if flow.producer.topic == topic]
        return sum(flow.sent.get(partition, 0) for flow in flows)

    def stop(self) -> None:
        self._ending.set()
        self._thread.join()
        for flow in self._flows:
            flow.producer.close()

    def _run(self) -> None:
        try:
            while not self._ending.wait(_EVERY_S):
                with self._lock:
                    flows = list(self._flows)
                for flow in flows:
                    flow.send()
        except BaseException as error:  # noqa: BLE001 - reported to the caller that reads `error`
            self.error = error
