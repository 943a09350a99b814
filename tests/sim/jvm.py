"""A JVM member of the old kind, as far as the group sees it.

It reads the offset and then claims, in two steps; it commits blindly; at every rebalance it
releases everything and tries four times; and after a pause beyond its session it continues to read
and write until it notices.
"""

from __future__ import annotations

import queue
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.errors import BadZnodeError, ServerError
from pyspark_zkgroup.group.ops import Create, Delete, Op, SetData
from pyspark_zkgroup.group.ownership import parse_offset
from pyspark_zkgroup.group.snapshot import read_snapshot
from pyspark_zkgroup.group.target import target
from pyspark_zkgroup.jvm.registration import Registration, Subscription, encode_registration
from pyspark_zkgroup.jvm.topics import parse_topic
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import (
    DisconnectedError,
    SessionEvent,
    SessionLostError,
    SessionSettings,
)
from tests.fakes.kafka import FakeKafka
from tests.fakes.session import FakeSession
from tests.fakes.store import FakeStore
from tests.fakes.zookeeper import FakeZookeeper
from tests.sim.checkers import Checkers
from tests.sim.group_config import GroupConfig
from tests.sim.process import Process
from tests.sim.world import KilledError, World

_TRIES = 4
_BACKOFF_S = 2.0
_FETCH_S = 0.4
_COMMIT_S = 1.5
_FETCH_MAX = 8
_LAZY_S = 120.0
_RECONNECT_S = 0.2


@dataclass
class Fetcher:
    position: int
    committed: int


class JvmMember:
    def __init__(
        self,
        world: World,
        server: FakeZookeeper,
        kafka: FakeKafka,
        checkers: Checkers,
        name: str,
        group: str,
        config: GroupConfig,
    ) -> None:
        self.world, self.kafka, self.checkers = world, kafka, checkers
        self.name, self.group = name, group
        self.topics = dict.fromkeys(config.topics, 1)
        # JVM consumers have no strategy 'balanced'.
        self.strategy = "range" if config.strategy == "balanced" else config.strategy
        self.order = config.order
        self.settings = SessionSettings("zk1:2181", "", config.session_ms, config.session_ms)
        self.process = Process(world, server, name)
        self.process.inside = True
        self.root = f"/consumers/{group}"
        self.fetchers: dict[TopicPartition, Fetcher] = {}
        self.mine: list[str] = []
        self.gone = False
        self.stopping = False
        self._restless = False
        self._events: queue.SimpleQueue[SessionEvent] = queue.SimpleQueue()
        self.session: FakeSession | None = None
        self.process.actors.append(world.start(name, self.run))
        world.tell(f"{name} (JVM) starts")

    def run(self) -> None:
        try:
            while not self.stopping:
                try:
                    self._stand()
                    self._live()
                except (DisconnectedError, ServerError, BadZnodeError):
                    self._idle(0.5)
                except SessionLostError:
                    # Its fetchers end only now: until here it is a zombie.
                    self.session = None
                    self.fetchers.clear()
                    self.mine.clear()
            self._commit()
            self._release()
            if self.session is not None:
                self.session.close()
        except (KilledError, DisconnectedError, SessionLostError):
            pass
        finally:
            self.gone = True
            self.process.access.die()
            self.world.tell(f"{self.name} (JVM) is gone")

    def stop(self) -> None:
        self.stopping = True
        self.world.wake()

    # -- its life

    def _stand(self) -> None:
        if self.session is None:
            self._events = queue.SimpleQueue()
            session = FakeSession(
                self.process.server,
                self.process,
                self.process.access,
                self.world.rng,
                self.settings,
                self._events,
            )
            session.open()
            self.checkers.jvm_sessions[session.id] = self.name
            self.session = session
            self._register()
            self._rebalance()

    def _live(self) -> None:
        commit_at = self.world.now + _COMMIT_S
        while not self.stopping:
            self._idle(_LAZY_S if self.world.lazy else _FETCH_S)
            if self._stirred():
                self._rebalance()
            self._fetch()
            if self.world.now >= commit_at:
                self._commit()
                commit_at = self.world.now + _COMMIT_S

    def _idle(self, seconds: float) -> None:
        self.process.wait(seconds, lambda: self.stopping or not self._events.empty())

    def _stirred(self) -> bool:
        stirred, self._restless = self._restless, False
        while not self._events.empty():
            event = self._events.get()
            if event.kind == "lost":
                raise SessionLostError("lost")
            stirred |= event.kind in ("changed", "connected")
        return stirred

    def _register(self) -> None:
        data = encode_registration(Registration(Subscription.static(self.topics), "1"))
        self._make(f"{self.root}/ids")
        self._ask(Create(f"{self.root}/ids/{self.name}", data, ephemeral=True))

    def _rebalance(self) -> None:
        for attempt in range(_TRIES):
            if self._try():
                return
            self._release()
            if attempt < _TRIES - 1:
                self.process.wait(_BACKOFF_S, lambda: self.stopping)
        self.world.tell(f"{self.name} (JVM) has given up")

    def _try(self) -> bool:
        self._commit()
        self._release()
        shares = self._share()
        offsets = {p: self._offset(p) for p in sorted(shares)}
        for partition in sorted(shares):
            path = f"{self.root}/owners/{partition.topic}"
            self._make(path)
            node = f"{path}/{partition.partition}"
            if not self._claim(node, f"{self.name}-{shares[partition]}".encode()):
                return False
            self.mine.append(node)
        self.fetchers = {p: Fetcher(at, at) for p, at in offsets.items() if at is not None}
        self.checkers.counts["jvm claim"] += len(shares)
        return True

    def _claim(self, node: str, data: bytes) -> bool:
        """Its client sends a request until it is answered; a node that is there by then is its own
        if it holds the very data.
        """
        unanswered = False
        while True:
            try:
                (result,) = self._ask(Create(node, data, ephemeral=True))
                if not isinstance(result, int):
                    return True
                if not unanswered:
                    return False
                (there,) = self._store().nodes([node])
                return there is not None and there.data == data
            except DisconnectedError:
                unanswered = True
                self._restless |= self._stirred()
                self.process.wait(_RECONNECT_S, lambda: self.stopping)

    def _share(self) -> dict[TopicPartition, int]:
        store = self._store()
        (listed,) = store.children([f"{self.root}/ids"], watch=True)
        names = sorted(listed.names) if listed else []
        nodes = store.nodes([f"{self.root}/ids/{n}" for n in names])
        topics: dict[str, tuple[int, ...]] = {}
        paths = [f"/brokers/topics/{t}" for t in sorted(self.topics)]
        for topic, node in zip(sorted(self.topics), store.nodes(paths, watch=True), strict=True):
            if node is not None:
                topics[topic] = parse_topic(topic, node.data)
        ids = {n: s.data for n, s in zip(names, nodes, strict=True) if s is not None}
        found = target(read_snapshot(self.group, ids, topics), self.strategy, self.order, True)
        return {p: t.number for p, t in found.items() if t.consumer == self.name}

    def _offset(self, partition: TopicPartition) -> int | None:
        path = f"{self.root}/offsets/{partition.topic}/{partition.partition}"
        (node,) = self._store().nodes([path])
        value = parse_offset(node.data) if node is not None else None
        log = self.kafka.logs.get(partition)
        if value is None or value < 0:
            return log.earliest if log else None
        return value

    def _fetch(self) -> None:
        if not self.process.reaches_kafka:
            return
        for partition, fetcher in sorted(self.fetchers.items()):
            log = self.kafka.logs.get(partition)
            if log is None or not log.has_leader:
                continue
            until = min(log.latest, fetcher.position + _FETCH_MAX)
            if until > fetcher.position >= log.earliest:
                self.checkers.deliver(
                    partition, log.life, fetcher.position, until, None, f"{self.name} (JVM)"
                )
                fetcher.position = until

    def _commit(self) -> None:
        for partition, fetcher in sorted(self.fetchers.items()):
            if fetcher.position == fetcher.committed:
                continue
            path = f"{self.root}/offsets/{partition.topic}/{partition.partition}"
            (result,) = self._ask(SetData(path, b"%d" % fetcher.position, -1))
            if isinstance(result, int):
                self._make(f"{self.root}/offsets/{partition.topic}")
                (made,) = self._ask(Create(path, b"%d" % fetcher.position))
                if isinstance(made, int):
                    # As updatePersistentPath does where another one has made the node meanwhile.
                    self._ask(SetData(path, b"%d" % fetcher.position, -1))
            fetcher.committed = fetcher.position

    def _release(self) -> None:
        self.fetchers = {}
        while self.mine:
            self._ask(Delete(self.mine[-1], -1))
            self.mine.pop()

    # -- requests

    def _store(self) -> FakeStore:
        assert self.session is not None
        return FakeStore(self.session)

    def _make(self, path: str) -> None:
        self._store().ensure([path])

    def _ask(self, op: Op) -> Any:
        session = self.session
        if session is None:
            raise SessionLostError("none")

        def execute() -> Any:
            results = session.server.multi(session.id, [op])
            session.server.catch_up(session.replica)
            return results

        return session.call(f"jvm {type(op).__name__} {op.path}", execute)
