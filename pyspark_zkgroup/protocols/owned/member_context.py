"""A member's identity, and its connections while its session lives."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId
from pyspark_zkgroup.protocols.owned.holdings import Holdings
from pyspark_zkgroup.protocols.rebalance_callback import RebalanceCallback
from pyspark_zkgroup.zk.port import NodeStore


@dataclass(frozen=True, slots=True)
class Member:
    """What outlives its sessions. `static`: it has a `member.id`."""

    paths: GroupPaths
    consumer: str
    static: bool
    holdings: Holdings
    clock: EventClock
    callback: RebalanceCallback

    def thread(self, number: int) -> ThreadId:
        return ThreadId(self.consumer, number)

    def on(self, store: NodeStore) -> MemberContext:
        return MemberContext(
            *(self.paths, self.consumer, self.static, self.holdings, self.clock, self.callback),
            store=store,
        )


@dataclass(frozen=True, slots=True)
class MemberContext(Member):
    """A member in one session."""

    store: NodeStore

    @property
    def session(self) -> int:
        return self.store.session.id
