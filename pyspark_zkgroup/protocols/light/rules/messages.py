"""What a light member and its coordinator send each other, as values; as bytes: wire.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from pyspark_zkgroup.group.ops import NodeVersion, Outcome, Transaction
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Command

# -- from the member


@dataclass(frozen=True, slots=True)
class Hello:
    """The first message of a stream. `incarnation` is the process, made up once: by it a member
    that has lost its connection is told from another one under its name.
    """

    group: str
    consumer: str
    incarnation: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Register:
    """`registration`: the node's bytes. `evidence`: the fences of a static member's own plan."""

    number: int
    registration: bytes
    static: bool = False
    evidence: Mapping[TopicPartition, NodeVersion] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """`what`: nodes with their data; names of children; or nothing but that the coordinator's
    server has caught up (`sync`); or that the paths are made where they are missing.
    """

    number: int
    what: Literal["nodes", "children", "sync", "ensure"]
    paths: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Commit:
    number: int
    transactions: tuple[Transaction, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """The answer to a command, at a boundary."""

    answer: Answer


@dataclass(frozen=True, slots=True)
class Pong:
    """To a ping, at once, whatever the planner is doing."""

    number: int


@dataclass(frozen=True, slots=True)
class Leave:
    number: int


# -- from the coordinator


@dataclass(frozen=True, slots=True)
class Accepted:
    """`life`: of this incarnation's registration, 0 where there is none (any more). `brokers`: as
    far as the coordinator knows.
    """

    epoch: int
    life: int
    brokers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """`retriable`: another time it may be otherwise. `fenced`: another process goes by the name."""

    reason: str
    retriable: bool
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`address` of who is in office; empty: nobody is, or it serves no light members."""

    address: str
    coordinator: str = ""


@dataclass(frozen=True, slots=True)
class Ping:
    """`heard`: the newest pong that has come in."""

    number: int
    heard: int


@dataclass(frozen=True, slots=True)
class Tell:
    command: Command


@dataclass(frozen=True, slots=True)
class NodeRead:
    """A node as one member sees it: `owner` is the session of an ephemeral node, or the life of the
    light member whose node it is.
    """

    data: bytes
    node: NodeVersion
    owner: int
    modified: int = 0


@dataclass(frozen=True, slots=True)
class NodesRead:
    number: int
    nodes: tuple[NodeRead | None, ...]


@dataclass(frozen=True, slots=True)
class ChildrenRead:
    number: int
    names: tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Executed:
    number: int
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True)
class Registered:
    number: int
    life: int


@dataclass(frozen=True, slots=True)
class Failed:
    """`offline`: the coordinator could not ask ZooKeeper now; `forbidden`: this member may not, or
    ZooKeeper does not let the coordinator; `taken`: another process is registered by the name.
    """

    number: int
    why: Literal["offline", "forbidden", "taken"]
    text: str


ToCoordinator: TypeAlias = Hello | Register | Read | Commit | Told | Pong | Leave
ToMember: TypeAlias = (
    Accepted
    | Rejected
    | Elsewhere
    | Ping
    | Tell
    | NodesRead
    | ChildrenRead
    | Executed
    | Registered
    | Failed
)
Reply: TypeAlias = NodesRead | ChildrenRead | Executed | Registered | Failed
