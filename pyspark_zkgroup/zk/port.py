"""What a member asks of ZooKeeper, and what comes back, by whatever connection.

Nothing here needs kazoo: a member without ZooKeeper asks a coordinator by the same port.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from pyspark_zkgroup.errors import ServerError
from pyspark_zkgroup.group.ops import NodeVersion, Outcome, Transaction
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.security.zookeeper_security import OPEN, ZooKeeperSecurity

_PARTITION = re.compile(r"0|[1-9][0-9]{0,9}", re.ASCII)


class SessionLostError(Exception):
    """The session has expired (or was closed): whatever was held under it is gone."""


class DisconnectedError(Exception):
    """No answer: the request was executed, will be, or never arrives. The session may live."""


class UnreachedError(ServerError):
    """No server has answered since the session was to be opened."""


@dataclass(frozen=True, slots=True)
class SessionEvent:
    kind: Literal["connected", "suspended", "lost", "changed"]
    path: str = ""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    hosts: str
    chroot: str
    timeout_ms: int
    connection_timeout_ms: int
    auth: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    set_acl: bool = False
    security: ZooKeeperSecurity = OPEN

    @property
    def connect(self) -> str:
        return self.hosts + self.chroot


class Node(NamedTuple):
    """A tuple: every look at a large group makes thousands, and a frozen dataclass takes four times
    as long to make.
    """

    data: bytes
    node: NodeVersion
    ephemeral_owner: int
    children_version: int
    made_ms: int = 0
    """When, by the clock of the server that led then."""
    modified: int = 0
    """The transaction that last wrote it; comparable with other nodes' czxid."""
    written_ms: int = 0
    """When it was last written, by the same clock."""


@dataclass(frozen=True, slots=True)
class Children:
    names: frozenset[str]
    children_version: int
    czxid: int


class NodeSession(Protocol):
    """A session as a member sees it, whichever process keeps it."""

    settings: SessionSettings
    id: int

    @property
    def alive(self) -> bool:
        """Not known to have expired. Only the server knows for sure."""

    @property
    def connected(self) -> bool: ...

    @property
    def negotiated_timeout_s(self) -> float: ...

    def lease_left_s(self) -> float:
        """How long the session surely lives yet."""

    def close(self) -> None:
        """End the session on the server as well. May be called twice."""


class NodeStore(Protocol):
    """Reads and transactions of one session; a missing node is None. zk/store.py says more."""

    requests: int

    @property
    def session(self) -> NodeSession: ...

    def sync(self, path: str = "/") -> None: ...

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]: ...

    def stats(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]: ...

    def children(self, paths: Sequence[str], *, watch: bool = False) -> list[Children | None]: ...

    def commit(self, transactions: Sequence[Transaction]) -> list[Outcome]: ...

    def ensure(self, paths: Iterable[str], *, world_open: bool = False) -> None: ...


def partitions_below(
    topics: Sequence[str], listed: Sequence[Children | None]
) -> set[TopicPartition]:
    """The partitions below each topic's node, under owners/ or offsets/. A name that is not a
    number as consumers write it (00, or thousands of digits) is not a partition.
    """
    return {
        TopicPartition(topic, int(name))
        for topic, children in zip(topics, listed, strict=True)
        if children is not None
        for name in children.names
        if _PARTITION.fullmatch(name)
    }
