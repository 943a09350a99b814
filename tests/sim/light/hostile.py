"""A hostile client that can reach the port, and keeps to no rule.

It claims to be one of the members, with another secret or with what the registration shows, and
asks for what they own: by the versions that it has read, or by none. None of that may be executed.
What any member of a group may do by the rules (claim what is free, settle what it could have read)
it leaves alone: that harms as well, and docs/security.md says so.
"""

from __future__ import annotations

import queue
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark_zkgroup.group.ops import Create, Delete, SetData, Transaction
from pyspark_zkgroup.jvm.registration import parse_registration
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import Started, Stopped
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.light.rules.messages import (
    Commit,
    Hello,
    Leave,
    Pong,
    Read,
    Register,
    ToCoordinator,
    Told,
    ToMember,
)
from tests.fakes.light_stream import FakeStream
from tests.sim.light.member import LightDriver
from tests.sim.process import Process

if TYPE_CHECKING:
    from tests.sim.light.scene import LightScene

SHARE = 0.3
"""Of the scenes."""
SECRET = "hostile".ljust(32, "!")
_AT_ONCE = 8


def drawn(seed: int) -> bool:
    """Drawn separately from all else, so that a scene without it is unchanged."""
    return Random(f"{seed} hostile").random() < SHARE


class HostileClient:
    def __init__(self, scene: LightScene) -> None:
        self.scene = scene
        self.world = scene.world
        self.rng = Random(f"{scene.seed} hostile client")
        self.process = Process(scene.world, scene.server, "hostile")
        self.streams: list[FakeStream] = []
        self.number = 0

    def begin(self) -> None:
        actor = self.world.start("hostile client", self._run)
        self.process.actors.append(actor)

    def _run(self) -> None:
        while not (self.scene.healing or self.world.over):
            self.world.pause(self.rng.uniform(0.1, 2.5))
            victims = [d for d in self.scene.cast.running if isinstance(d, LightDriver)]
            office = self.scene.serving()
            if victims and office is not None and not self.scene.healing:
                self._attack(self.rng.choice(victims), office)
        for stream in self.streams:
            stream.close()

    def _attack(self, victim: LightDriver, office: Any) -> None:
        rng = self.rng
        inbox: queue.SimpleQueue[ToMember | Exception] = queue.SimpleQueue()
        around: Any = self.process
        stream = FakeStream(around, self.process.access, office.served, inbox, "hostile")
        stream.send(self._hello(victim))
        for _ in range(rng.randrange(_AT_ONCE)):
            stream.send(rng.choice(_ATTACKS)(self, victim))
            self.world.pause(rng.uniform(0.0, 0.3))
            self.scene.counts["hostile request"] += 1
        if rng.random() < 0.7:
            stream.close()
        else:
            # It keeps its place as long as the coordinator allows it.
            self.streams = [*self.streams[-3:], stream]

    def _hello(self, victim: LightDriver) -> Hello:
        consumer: str = victim.membership.member
        seat = self._seat(victim)
        names = [SECRET, SECRET, seat.incarnation if seat is not None else SECRET]
        name = self.rng.choice([consumer, consumer, consumer, "g_hostile"])
        timeout_ms = self.rng.choice([1000, seat.timeout_ms if seat else 1500, 3_600_000])
        return Hello("g", name, self.rng.choice(names), timeout_ms)

    def _seat(self, victim: LightDriver) -> Any:
        path = self.scene.paths.id(victim.membership.member)
        node = self.scene.server.leader.nodes.get(path)
        return None if node is None else parse_registration(path, node.data).light

    # -- what it asks for

    def _next(self) -> int:
        self.number += 1
        return self.number

    def _partition(self) -> TopicPartition:
        return self.rng.choice(sorted(self.scene.kafka.logs) or [TopicPartition("t0", 0)])

    def _version(self, path: str) -> int:
        node = self.scene.server.leader.nodes.get(path)
        exact = 0 if node is None else node.node.version
        return self.rng.choice([exact, exact, -1, exact + 1])

    def write(self, victim: LightDriver) -> ToCoordinator:
        paths, p = self.scene.paths, self._partition()
        owner, offset = paths.owner(p), paths.offset(p)
        text = f"{victim.membership.member}-0".encode()
        found: list[Transaction] = [
            (SetData(offset, b"999999", self._version(offset)),),
            (SetData(offset, b"no number", self._version(offset)), Delete(owner, 1)),
            (Delete(owner, self._version(owner)),),
            (SetData(owner, text, self._version(owner)),),
            (Delete(owner, self._version(owner)), Create(owner, text)),
            (Create(owner, text), SetData(owner, text, 0)),
            (Create(offset, b"999999"),),
            (Delete(offset, self._version(offset)),),
            (SetData(paths.id(victim.membership.member), b"{}", -1),),
            (Create("/consumers/h/owners/t0/0", b"h_x-0"),),
        ]
        return Commit(self._next(), tuple(self.rng.sample(found, self.rng.randrange(1, 4))))

    def replay(self, victim: LightDriver) -> ToCoordinator:
        """The registration as it is in ZooKeeper."""
        node = self.scene.server.leader.nodes.get(self.scene.paths.id(victim.membership.member))
        data = b"{}" if node is None else node.data
        return Register(self._next(), data, self.rng.random() < 0.5)

    def answer(self, victim: LightDriver) -> ToCoordinator:
        """An answer to a command that it did not receive."""
        orders = victim.membership.decider.orders
        generation: Generation = orders.newest
        life = max(0, orders.life)
        if self.rng.random() < 0.5:
            return Told(Started(generation, life))
        return Told(Stopped(generation, life, {self._partition(): 7}))

    def read(self, _victim: LightDriver) -> ToCoordinator:
        paths, p = self.scene.paths, self._partition()
        what = self.rng.choice(["nodes", "children", "sync", "ensure"])
        asked = (paths.offset_topic(p.topic), paths.owner_topic("made-up"), "/consumers")
        return Read(self._next(), what, asked[: self.rng.randrange(1, 4)])  # type: ignore[arg-type]

    def leave(self, _victim: LightDriver) -> ToCoordinator:
        return Leave(self._next())

    def pong(self, _victim: LightDriver) -> ToCoordinator:
        return Pong(2**62)


_ATTACKS: tuple[Callable[[HostileClient, LightDriver], ToCoordinator], ...] = (
    *(HostileClient.write, HostileClient.write, HostileClient.write, HostileClient.write),
    *(HostileClient.replay, HostileClient.answer, HostileClient.read),
    *(HostileClient.leave, HostileClient.pong),
)
