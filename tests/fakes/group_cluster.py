"""The brokers as one thread of a group's member reaches them: a Cluster without sockets.

It has only what a GroupCoordinator and metadata.py call. Each request and each answer takes time;
either may be lost, or arrive when its sender no longer waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from random import Random
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.clock import Clock
from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.kafka.losses import Lost
from tests.fakes.group_answers import WORDS
from tests.fakes.group_coordinator import FakeGroupCoordinator
from tests.fakes.kafka import BROKERS, FakeKafka
from tests.fakes.session import Access, Steps

_NOTICED_S = 0.02
_LATE_S = 4.0
_GLANCE_S = 0.5


@dataclass(eq=False)
class GroupCall:
    """`answer` is set as soon as no caller has to wait any more."""

    until: float
    answer: Any | Lost | None = None
    given_up: bool = False


class FakeCluster:
    def __init__(
        self,
        client: int,
        coordinator: FakeGroupCoordinator,
        kafka: FakeKafka,
        access: Access,
        steps: Steps,
        reaches: Callable[[], bool],
        clock: Clock,
        rng: Random,
    ) -> None:
        self.client = client
        self.coordinator = coordinator
        self.kafka = kafka
        self.access = access
        self.steps = steps
        self.reaches = reaches
        self.clock = clock
        self.rng = rng

    # -- as a Cluster

    @property
    def answered(self) -> int:
        return BROKERS[self.client % len(BROKERS)]

    answered_from = ""

    def ask(
        self,
        build: Callable[[], Any],
        *,
        timeout_s: float,
        last: Collection[int] = (),
        is_answer: Callable[[Any], bool] = lambda _: True,
    ) -> Any:
        """Any broker: only a network that is down altogether keeps the answer from us."""
        del last
        request = build()
        kind = type(request).__name__
        self.steps.step(f"group {kind}")
        if not self.reaches():
            self.steps.wait(timeout_s / self.access.clock_rate, self.reaches)
            raise ServerError("No Kafka broker answered", "Check the brokers")
        answer = self.coordinator.find(self.client)
        if kind == "MetadataRequest":
            answer = self._metadata([t.name for t in request.topics])
        self.steps.step(f"answer {kind}")
        assert is_answer(answer)
        return answer

    def ask_each(self, requests: Mapping[int, Any], *, timeout_s: float) -> dict[int, Any | Lost]:
        ((node, request),) = requests.items()
        call = self.start(node, request, timeout_s=timeout_s)
        self._await(call, call.until)
        self.steps.step("answer")
        return {node: call.answer}

    def start(self, node: int, request: Any, *, timeout_s: float) -> GroupCall:
        now = self.steps.now
        call = GroupCall(now + timeout_s / self.access.clock_rate)
        word = WORDS[type(request).__name__]
        self.steps.step(f"group {word}")
        fate, self.access.lose_next = self.access.lose_next, ""
        if self.access.way == "refused" or not self.reaches() or self.coordinator.away:
            self._lose(call, _NOTICED_S)
        elif self.access.way == "silent":
            self._lose(call, None)
        elif fate == "dropped":
            self._lose(call, self._noticed_s())
        elif fate == "late":
            self._lose(call, self._noticed_s())
            late_s = self.rng.random() * _LATE_S
            self.steps.after(late_s, lambda: self._deliver_late(node, request))
        elif fate == "executed":
            self._lose(call, self._noticed_s())
            self._deliver(node, request, None)
        else:
            self._deliver(node, request, call)
        return call

    def first(self, calls: Collection[GroupCall], *, timeout_s: float) -> GroupCall | None:
        (call,) = calls
        # A member looks up ten times a second while it waits for minutes: fewer do.
        wait_s = max(timeout_s, _GLANCE_S) / self.access.clock_rate
        self._await(call, self.steps.now + wait_s)
        if call.answer is None and self.steps.now >= call.until:
            self._end(call)
        return call if call.answer is not None else None

    def abandon(self, calls: Collection[GroupCall]) -> None:
        for call in calls:
            call.given_up = True

    def knows(self, _node: int) -> bool:
        return True

    def learn(self, response: Any) -> None: ...

    def close(self) -> None: ...

    # -- the way there and back

    def _deliver(self, node: int, request: Any, call: GroupCall | None) -> None:
        def reply(response: Any) -> None:
            if call is None or call.given_up or call.answer is not None:
                return
            if self.access.way != "up" or self.access.dead or not self.reaches():
                self._lose(call, _NOTICED_S if self.access.way == "refused" else None)
                return
            call.answer = response
            self.steps.wake()

        self.coordinator.ask(self.client, node, request, reply)

    def _deliver_late(self, node: int, request: Any) -> None:
        looker = self.coordinator.looker
        if looker is not None and WORDS[type(request).__name__] == "join":
            looker.joined_late(self.client)
        self.coordinator.late = True
        self._deliver(node, request, None)
        self.coordinator.late = False

    def _noticed_s(self) -> float | None:
        """A connection that breaks is noticed, a packet that is swallowed is not."""
        return _NOTICED_S if self.rng.random() < 0.5 else None

    def _lose(self, call: GroupCall, noticed_s: float | None) -> None:
        self.access.refusals += 1
        if noticed_s is not None:
            self.steps.after(noticed_s, lambda: self._end(call))

    def _end(self, call: GroupCall) -> None:
        if call.answer is None:
            call.answer = Lost("no answer")
            self.steps.wake()

    def _await(self, call: GroupCall, until: float) -> None:
        if call.answer is None:
            until = min(until, call.until)
            self.steps.wait(until - self.steps.now, lambda: call.answer is not None)
        if call.answer is None and self.steps.now >= call.until - 1e-9:
            self._end(call)

    def _metadata(self, names: Collection[str]) -> Any:
        seen = self.kafka.topics(self.answered)
        topics = [
            SimpleNamespace(
                error_code=0,
                name=name,
                topic_id=None,
                is_internal=False,
                partitions=[
                    SimpleNamespace(partition_index=number, leader_id=1, leader_epoch=-1)
                    for number in seen[name].partitions
                ],
            )
            for name in names
            if name in seen
        ]
        broker = SimpleNamespace(node_id=1, host="b1", port=9092)
        return SimpleNamespace(topics=topics, cluster_id="c", brokers=[broker])
