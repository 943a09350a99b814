"""The messages between a light member and its coordinator, as values; wire.py has the bytes."""

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
    """The first message of a stream. `incarnation` identifies the process, and is chosen once: it
    tells a member that has lost its connection from another process under its name.
    """

    group: str
    consumer: str
    incarnation: str
    timeout_ms: int


@dataclass(frozen=True, slots=True)
class Register:
    """`registration` has the node's bytes; `evidence` the fences of a static member's own plan."""

    number: int
    registration: bytes
    static: bool = False
    evidence: Mapping[TopicPartition, NodeVersion] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """`what` to do: read nodes with their data; list children; only let the coordinator's server
    catch up (`sync`); or create the paths that are missing.
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
    """The answer to a ping, sent at once, whatever the planner is doing."""

    number: int


@dataclass(frozen=True, slots=True)
class Leave:
    number: int


# -- from the coordinator


@dataclass(frozen=True, slots=True)
class Accepted:
    """`life` is that of this incarnation's registration, 0 if there is none (any more). `brokers`
    are those that the coordinator knows.
    """

    epoch: int
    life: int
    brokers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rejected:
    """`retriable`: a later attempt may succeed. `fenced`: another process has the name."""

    reason: str
    retriable: bool
    fenced: bool = False


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """`address` of the coordinator in office; empty if none is, or it serves no light members."""

    address: str
    coordinator: str = ""


@dataclass(frozen=True, slots=True)
class Ping:
    """`heard` is the newest pong that has arrived."""

    number: int
    heard: int


@dataclass(frozen=True, slots=True)
class Tell:
    command: Command


@dataclass(frozen=True, slots=True)
class NodeRead:
    """A node as one member sees it. `owner` is the session of an ephemeral node, or the life of the
    light member that the node belongs to.
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
    """`offline`: the coordinator could not reach ZooKeeper. `forbidden`: this member may not do it,
    or ZooKeeper refuses it to the coordinator. `taken`: another process is registered by the name.
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
