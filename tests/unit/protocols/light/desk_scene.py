"""A coordinator's desk on the fake ZooKeeper, and the members' ends of its streams."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from typing import Any, cast

from pyspark_zkgroup.group.claim import claim_request
from pyspark_zkgroup.group.ops import Create, Done, NodeVersion, Outcome
from pyspark_zkgroup.group.ownership import OffsetRead
from pyspark_zkgroup.group.paths import COORDINATED, CoordinatedPaths
from pyspark_zkgroup.jvm.registration import (
    LightSeat,
    Registration,
    Subscription,
    encode_registration,
)
from pyspark_zkgroup.model import ThreadId, TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import (
    Command,
)
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.light.conversation import Outbox
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.nodes import read_light
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.messages import (
    Commit,
    Executed,
    Hello,
    Register,
    Registered,
    Tell,
    ToMember,
)
from pyspark_zkgroup.threads import SYSTEM_THREADS
from tests.fakes.standing import FakeEnsemble
from tests.fakes.still_clock import StillClock

PATHS = CoordinatedPaths("g")
P, Q = TopicPartition("t", 0), TopicPartition("u", 0)
G1, G2 = Generation(1, 1), Generation(1, 2)
TIMEOUT_S = 6.0


class Stream:
    """A member's end of its stream."""

    def __init__(self, desk: LightDesk, hello: Hello) -> None:
        self.hello = hello
        self.outbox = Outbox()
        self.seat = desk.greet(hello, self.outbox, Caller())

    def received(self) -> list[ToMember]:
        found: list[ToMember] = []
        waiting = cast(Any, self.outbox)._messages
        while not waiting.empty():
            message = waiting.get()
            if message is not None:
                found.append(message)
        return found

    def commands(self) -> list[Command]:
        return [m.command for m in self.received() if isinstance(m, Tell)]

    def say(self, message: Any) -> Any:
        """Return the last message that was received after this one."""
        self.received()
        assert self.seat is not None
        self.seat.take(message)
        received = self.received()
        return received[-1] if received else None

    def register(
        self, *, static: bool = False, evidence: Mapping[TopicPartition, NodeVersion] | None = None
    ) -> Any:
        shown = identity.shown(self.hello.group, self.hello.consumer, self.hello.incarnation)
        registration = Registration(
            Subscription.static({"t": 1}),
            "5",
            strategy="sticky",
            static_id=static,
            light=LightSeat(shown, self.hello.timeout_ms),
        )
        data = encode_registration(registration)
        return self.say(Register(1, data, static, evidence or {}))

    def leave(self) -> None:
        assert self.seat is not None
        self.seat.end()


class Scene:
    def __init__(self, clock: StillClock | None = None, threads: Any = SYSTEM_THREADS) -> None:
        ensemble = FakeEnsemble()
        self.store = ensemble.store(ensemble.open(5000, ""))
        self.store.ensure([COORDINATED, PATHS.ids])
        self.store.ensure([f(t) for t in "tu" for f in (PATHS.owner_topic, PATHS.offset_topic)])
        self.clock = clock or StillClock()
        self.wakes: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.desk = LightDesk(("b1:9092",), clock=cast(Any, self.clock), threads=threads)
        self.desk.begin(self.store, 1, lambda: self.wakes.put(None))

    def stream(self, consumer: str = "g_a", process: str = "x") -> Stream:
        return Stream(self.desk, Hello("g", consumer, process * 32, int(TIMEOUT_S * 1000)))

    def registered(self, consumer: str = "g_a", process: str = "x", **given: Any) -> Stream:
        found = self.stream(consumer, process)
        assert isinstance(found.register(**given), Registered)
        return found

    def generation(self, consumer: str = "g_a") -> str:
        found = read_light(self.store, PATHS, consumer)
        assert found is not None
        return found.seat.generation

    def nodes(self) -> set[str]:
        (ids,) = self.store.children([PATHS.ids])
        return set(ids.names) if ids else set()


def life_of(stream: Stream) -> int:
    assert stream.seat is not None
    return stream.seat.client.life


def ask_for(scene: Scene, stream: Stream, partition: TopicPartition = P) -> Outcome:
    offset = PATHS.offset(partition)
    scene.store.commit([(Create(offset, b"5"),)])
    (node,) = scene.store.nodes([offset])
    assert node is not None
    thread = ThreadId(stream.hello.consumer, 0)
    request = claim_request(PATHS, partition, thread, OffsetRead(b"5", node.node), 5)
    answer = stream.say(Commit(2, (request,)))
    assert isinstance(answer, Executed)
    (outcome,) = answer.outcomes
    return outcome


def claim(scene: Scene, stream: Stream, partition: TopicPartition = P) -> NodeVersion:
    """Return the version of the offset node: the fence of what the member plans."""
    assert isinstance(ask_for(scene, stream, partition), Done)
    (node,) = scene.store.nodes([PATHS.offset(partition)])
    assert node is not None
    return node.node
