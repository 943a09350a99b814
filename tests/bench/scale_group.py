"""A group of one protocol whose members one process drives, without Spark and without brokers."""

from __future__ import annotations

import json
import queue
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pyspark_zkgroup.clock import SYSTEM
from pyspark_zkgroup.group.ops import Create
from pyspark_zkgroup.group.paths import COORDINATED, COORDINATOR
from pyspark_zkgroup.options import parse
from pyspark_zkgroup.protocols.coordinator.membership import coordinator_membership
from pyspark_zkgroup.protocols.coordinator.term import Term
from pyspark_zkgroup.protocols.environment import Environment
from pyspark_zkgroup.protocols.light.desk import LightDesk
from pyspark_zkgroup.protocols.light.membership import light_membership
from pyspark_zkgroup.protocols.owned.membership import OwnedMembership
from pyspark_zkgroup.protocols.zookeeper.membership import zookeeper_membership
from pyspark_zkgroup.zk.session import SessionEvent
from pyspark_zkgroup.zk.store import Store
from tests.bench.asked import Asked, Counting
from tests.bench.light_counter import SESSION_TIMEOUT_MS, LightCounter
from tests.bench.scale_ground import Ground
from tests.fakes.brokers import FakeBrokers

PROTOCOLS: dict[str, Callable[..., OwnedMembership]] = {
    "zookeeper": zookeeper_membership,
    "coordinator": coordinator_membership,
    "light": light_membership,
}
TOPIC = "t"
_GROUP = "g"
_ROUNDS_MAX = 5000
_EPOCH = 1


@dataclass
class Group:
    """`watches`: of each member that has a session with ZooKeeper, how many are armed."""

    protocol: str
    partitions: int
    ground: Ground
    members: list[OwnedMembership] = field(default_factory=list)
    counts: list[Counting] = field(default_factory=list)
    light: LightCounter | None = None

    def __post_init__(self) -> None:
        store = self.ground.open(queue.SimpleQueue())
        node = {"version": 1, "partitions": {str(n): [1] for n in range(self.partitions)}}
        store.ensure(["/consumers", "/brokers/topics", "/brokers/ids", COORDINATED])
        store.commit(
            [
                (Create("/brokers/ids/1", b'{"host":"b","port":9092,"endpoints":[]}'),),
                (Create(f"/brokers/topics/{TOPIC}", json.dumps(node).encode()),),
                (Create(COORDINATOR, b"{}", ephemeral=True),),
            ]
        )
        self.events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self.term: Term | None = None
        self.coordinator = Counting(store)
        if self.protocol == "zookeeper":
            return
        mine = self.ground.open(self.events)
        if self.protocol == "light":
            light = self.light = LightCounter(self.ground.carry)
            self.coordinator = Counting(mine, light.bill)
            self.coordinator.asked = light.own
            light.desk.begin(mine, _EPOCH, lambda: self.events.put(SessionEvent("changed", "")))
        else:
            self.coordinator = Counting(mine)
        desk = self.light.desk if self.light else LightDesk()
        self.term = Term(mine, _EPOCH, 0, None, 1e9, SYSTEM, desk)

    def close(self) -> None:
        if self.light is not None:
            self.light.close()

    @property
    def asked(self) -> list[Asked]:
        """By each member, or by the coordinator on its behalf, in the order of their coming."""
        if self.light is None:
            return [count.asked for count in self.counts]
        accounts = self.light.accounts
        return [accounts[member.member] for member in self.members if member.member in accounts]

    @property
    def watches(self) -> list[int]:
        return [len(count.armed) for count in self.counts] or [0]

    def join(self) -> None:
        number = len(self.members)

        def opened(_settings: Any, events: queue.SimpleQueue[SessionEvent]) -> Store:
            store = self.ground.open(events)
            self.counts.append(Counting(store))
            return store

        options = {
            "group.id": _GROUP,
            "protocol": self.protocol,
            "subscribe": TOPIC,
            "threads": "1",
            "startingOffsets": "earliest",
            "kafka.bootstrap.servers": "any:9092",
        }
        environment = Environment(new_name=lambda _: f"m{number:04}", open_store=opened)
        if self.light is None:
            options["zookeeper.connect"] = "any:2181"
        else:
            options["coordinator.addresses"] = self.light.carrier.address
            options["session.timeout.ms"] = str(SESSION_TIMEOUT_MS)
            environment = Environment(
                new_name=environment.new_name, open_light=self.light.open_light
            )
        brokers = FakeBrokers({TOPIC: self.partitions})
        self.members.append(PROTOCOLS[self.protocol](parse(options), brokers, environment))

    def settle(self) -> float:
        """Drive each in turn until none has anything to do; return how many seconds that took."""
        began = last = time.perf_counter()
        quiet = rounds = 0
        while quiet < self.ground.quiet_rounds:
            rounds += 1
            if rounds > _ROUNDS_MAX:
                raise SystemExit(f"{self.protocol}: {len(self.members)} members never settle")
            self.ground.pass_by()
            busy = self._coordinate()
            settled = True
            for member in self.members:
                if member.stirred() or not member.agenda.joined:
                    busy = True
                    settled &= member.boundary({}).settled
            if busy or not settled or not self._everything_is_assigned:
                quiet, last = 0, time.perf_counter()
            else:
                quiet += 1
        return last - began

    @property
    def _everything_is_assigned(self) -> bool:
        """All is held, and each command answered."""
        if sum(len(member.holdings.held) for member in self.members) < self.partitions:
            return False
        return self.term is None or self.term.state.groups[_GROUP].settled

    def _coordinate(self) -> bool:
        if self.term is None:
            return False
        busy = False
        while not self.events.empty():
            event = self.events.get()
            self.coordinator.fired(event.path)
            self.term.note(event.path)
            busy = True
        while self.term.work():
            busy = True
        return busy
