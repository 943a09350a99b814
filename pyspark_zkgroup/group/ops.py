"""Requests to ZooKeeper as values: a transaction is a tuple of operations, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

ANY_VERSION = -1
"""For an operation on a node that only has to exist."""


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node. `sequential`: the server appends ten digits to the path, larger each time."""

    path: str
    data: bytes
    ephemeral: bool = False
    world_open: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class Check:
    path: str
    version: int


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int


Op: TypeAlias = Create | SetData | Check | Delete
Transaction: TypeAlias = tuple[Op, ...]


@dataclass(frozen=True, slots=True)
class NodeVersion:
    """Which life of a znode (czxid) and which version of its data.

    A version alone is not unique: it starts again after the node was deleted.
    """

    czxid: int
    version: int


@dataclass(frozen=True, slots=True)
class Done:
    """The transaction was executed. `written` has the new version of each node it set, in order."""

    written: tuple[NodeVersion, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """The transaction was not executed: the operation at `index` failed for `reason`."""

    index: int
    reason: Literal["exists", "missing", "version", "not empty", "other"]
    text: str = ""


@dataclass(frozen=True, slots=True)
class InDoubt:
    """No answer arrived. The transaction was executed, will be executed, or never is."""


Outcome: TypeAlias = Done | Refused | InDoubt
