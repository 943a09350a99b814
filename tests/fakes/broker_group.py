"""One group as its coordinator has it: the members, their generation, and what is written of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from pyspark_zkgroup.model import TopicPartition

Reply = Callable[[Any], None]
State = Literal["empty", "preparing", "completing", "stable"]


class Stored(NamedTuple):
    offset: int
    metadata: str


@dataclass
class GroupMember:
    """`client` is the one that sent its newest join."""

    id: str
    instance: str | None
    client: int
    subscription: bytes
    session_s: float
    rebalance_s: float
    assignment: bytes = b""
    turn: int = 0
    join: Reply | None = None
    sync: Reply | None = None


@dataclass
class Group:
    state: State = "empty"
    generation: int = 0
    protocol: str = ""
    leader: str = ""
    members: dict[str, GroupMember] = field(default_factory=dict)
    unsynced: set[str] = field(default_factory=set)
    """Members that know the generation and have not asked for their share."""

    def kept(self) -> Group:
        """Return the group as it is written: without requests, and without what is under way."""
        members = {m.id: replace(m, join=None, sync=None) for m in self.members.values()}
        state: State = "stable" if members else "empty"
        return Group(state, self.generation, self.protocol, self.leader, members)


class GroupLooker(Protocol):
    """Receives each event as it happens. Client 0 is an operator."""

    def answered(self, client: int, kind: str, code: int) -> None: ...

    def removed(self, member: GroupMember, why: str) -> None: ...

    def joined_late(self, client: int) -> None:
        """A join whose sender has given it up, and that was valid when it was sent."""

    def committed(
        self, client: int, partition: TopicPartition, before: Stored | None, after: Stored
    ) -> None: ...

    def loaded(self, group: Group) -> None:
        """Another broker has loaded the group; it knows what is written."""
