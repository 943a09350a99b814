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
    """`client` is whoever sent its newest join."""

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
    """Who was told of the generation and has not asked for its share."""

    def kept(self) -> Group:
        """As it is written: nobody who asks is written, and what was under way is not."""
        members = {m.id: replace(m, join=None, sync=None) for m in self.members.values()}
        state: State = "stable" if members else "empty"
        return Group(state, self.generation, self.protocol, self.leader, members)


class GroupLooker(Protocol):
    """Is told what happens, as it happens. Client 0 is an operator."""

    def answered(self, client: int, kind: str, code: int) -> None: ...

    def removed(self, member: GroupMember, why: str) -> None: ...

    def joined_late(self, client: int) -> None:
        """By a request that its sender has given up, and that says what was so when it was sent."""

    def committed(
        self, client: int, partition: TopicPartition, before: Stored | None, after: Stored
    ) -> None: ...

    def loaded(self, group: Group) -> None:
        """By another broker, which knows what is written."""
