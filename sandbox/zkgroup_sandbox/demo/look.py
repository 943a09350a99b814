"""What any client sees of the group: members and owners in ZooKeeper, lag from offsets and logs."""

from __future__ import annotations

import queue
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark_zkgroup.group.ownership import consumer_of
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.kafka import offsets
from pyspark_zkgroup.kafka.connection import Cluster
from pyspark_zkgroup.kafka.settings import FetchSettings
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.zk.session import (
    DisconnectedError,
    Session,
    SessionLostError,
    SessionSettings,
)
from pyspark_zkgroup.zk.store import Store

SESSION_TIMEOUT_MS = 10_000
ANSWER_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Look:
    """One topic of one group, seen from outside. Owners are consumer ids."""

    members: frozenset[str] = frozenset()
    owners: Mapping[int, str] = field(default_factory=dict)
    # The transaction that made the owner node: another one means that it was released meanwhile.
    claimed_by: Mapping[int, int] = field(default_factory=dict)
    committed: Mapping[int, int] = field(default_factory=dict)
    ends: Mapping[int, int] = field(default_factory=dict)

    def share(self, consumer: str) -> tuple[int, ...]:
        return tuple(p for p, owner in sorted(self.owners.items()) if owner == consumer)

    def lag(self, partition: int) -> int:
        """As every lag tool counts: the end of the log less the committed offset."""
        return max(0, self.ends.get(partition, 0) - self.committed.get(partition, 0))

    @property
    def total_lag(self) -> int:
        return sum(map(self.lag, self.ends))

    def kept_since(self, before: Look) -> int:
        """How many owner nodes have stood all the while."""
        return sum(before.claimed_by.get(p) == made for p, made in self.claimed_by.items())


class Onlooker:
    """Looks by a separate ZooKeeper session and separate broker connections; claims nothing."""

    def __init__(
        self, zookeeper_connect: str, bootstrap_servers: str, group: str, topic: str, count: int
    ) -> None:
        hosts, slash, chroot = zookeeper_connect.partition("/")
        self._settings = SessionSettings(
            hosts, slash + chroot, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS
        )
        self._store = self._opened()
        self._cluster = Cluster(FetchSettings(tuple(bootstrap_servers.split(","))))
        self._paths = GroupPaths(group)
        self._partitions = [TopicPartition(topic, number) for number in range(count)]
        self._seen = Look()

    def look(self) -> Look:
        """Return the present state, or the last one where ZooKeeper does not answer."""
        try:
            self._seen = self._read()
        except SessionLostError:
            self._store = self._opened()
        except DisconnectedError:
            return self._seen
        return self._seen

    def close(self) -> None:
        self._store.session.close()
        self._cluster.close()

    def _opened(self) -> Store:
        session = Session(self._settings, queue.SimpleQueue())
        session.open()
        return Store(session)

    def _read(self) -> Look:
        members = self._store.children([self._paths.ids])[0]
        owners = self._store.nodes([self._paths.owner(p) for p in self._partitions])
        committed = self._store.nodes([self._paths.offset(p) for p in self._partitions])
        ends = offsets.latest(self._cluster, self._partitions, timeout_s=ANSWER_TIMEOUT_S)
        return Look(
            members=frozenset() if members is None else members.names,
            owners={
                p.partition: consumer_of(node.data.decode())
                for p, node in zip(self._partitions, owners, strict=True)
                if node is not None
            },
            claimed_by={
                p.partition: node.node.czxid
                for p, node in zip(self._partitions, owners, strict=True)
                if node is not None
            },
            committed={
                p.partition: int(node.data)
                for p, node in zip(self._partitions, committed, strict=True)
                if node is not None
            },
            ends={p.partition: end for p, end in ends.items()},
        )
