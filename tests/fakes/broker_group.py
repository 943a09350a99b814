"""One group as its coordinator has it: the members, their generation, and what is written of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Protocol

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition

Reply = Callable[[Any], None]
State = Literal["empty", "preparing", "completing", "stable"]


class Stored(NamedTuple):
    offset: int
    metadata: str


class Place(NamedTuple):
    """The broker that has the group, and when it is back and has loaded it."""

    node: int = 1
    away_until: float = float("-inf")
    loading_until: float = float("-inf")

    def moved(self, now: float, *, away_s: float, loading_s: float) -> Place:
        return Place(self.node % 3 + 1, now + away_s, now + away_s + loading_s)


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

    @classmethod
    def of(cls, name: str, client: int, request: Any) -> GroupMember:
        member = cls(name, request.group_instance_id, client, b"", 0.0, 0.0)
        member.update(client, request)
        return member

    def update(self, client: int, request: Any) -> None:
        self.client = client
        self.subscription = bytes(request.protocols[0].metadata)
        self.session_s = request.session_timeout_ms / 1000.0
        self.rebalance_s = request.rebalance_timeout_ms / 1000.0


@dataclass
class Group:
    state: State = "empty"
    generation: int = 0
    protocol: str = ""
    leader: str = ""
    members: dict[str, GroupMember] = field(default_factory=dict)
    unsynced: set[str] = field(default_factory=set)
    """Members that know the generation and have not asked for their share."""

    @property
    def statics(self) -> dict[str | None, str]:
        return {m.instance: m.id for m in self.members.values() if m.instance is not None}

    def known(self, name: str, instance: str | None) -> int:
        holder = self.statics.get(instance) if instance is not None else name
        if holder is not None and holder != name:
            return codes.FENCED_INSTANCE_ID
        return codes.NONE if name in self.members else codes.UNKNOWN_MEMBER_ID

    def standing(self, name: str, instance: str | None, generation: int) -> int:
        code = self.known(name, instance)
        if code == codes.NONE and generation != self.generation:
            return codes.ILLEGAL_GENERATION
        return code

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
