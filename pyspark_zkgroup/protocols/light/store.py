"""Nodes as a light member reaches them: its coordinator reads and writes them for it.

The coordinator uses its own session with ZooKeeper, and serves only what concerns this member.
Watches do not exist: the member looks again at what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from pyspark_zkgroup.group.ops import Done, InDoubt, NodeVersion, Outcome, Transaction
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.light.rules.messages import (
    ChildrenRead,
    Commit,
    Executed,
    Failed,
    NodesRead,
    Read,
    Register,
    Registered,
)
from pyspark_zkgroup.protocols.light.rules.permits import OPERATIONS_MAX, PATHS_MAX
from pyspark_zkgroup.protocols.light.session import LightSession
from pyspark_zkgroup.zk.port import Children, DisconnectedError, Node, SessionLostError

T = TypeVar("T")
# Limit of one message; the rest of gRPC's limit is for what surrounds the texts.
_BYTES_MAX = 1024 * 1024
_OP_BYTES = 40


class LightStore:
    def __init__(self, session: LightSession) -> None:
        self.session = session
        self.requests = 0

    def register(
        self, registration: bytes, static: bool, evidence: dict[TopicPartition, NodeVersion]
    ) -> str:
        """Return an empty text, or the process that is registered under this name."""
        self.requests += 1
        reply = self.session.ask(lambda n: Register(n, registration, static, evidence))
        if isinstance(reply, Failed):
            return reply.text
        if not isinstance(reply, Registered):
            raise DisconnectedError(f"a registration was answered with {reply}")
        return ""

    def sync(self, path: str = "/") -> None:
        del path  # sync is for the whole server
        self.requests += 1
        self.session.ask(lambda n: Read(n, "sync"))

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        del watch
        found: list[Node | None] = []
        for part in _parts(paths, PATHS_MAX):
            self.requests += 1
            reply = self.session.ask(lambda n, part=part: Read(n, "nodes", part))  # type: ignore[misc]
            if not isinstance(reply, NodesRead) or len(reply.nodes) != len(part):
                raise DisconnectedError("a read was answered with something else")
            found += [
                None if n is None else Node(n.data, n.node, n.owner, 0, modified=n.modified)
                for n in reply.nodes
            ]
        return found

    def stats(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        return self.nodes(paths, watch=watch)

    def children(self, paths: Sequence[str], *, watch: bool = False) -> list[Children | None]:
        del watch
        found: list[Children | None] = []
        for part in _parts(paths, PATHS_MAX):
            self.requests += 1
            reply = self.session.ask(lambda n, part=part: Read(n, "children", part))  # type: ignore[misc]
            if not isinstance(reply, ChildrenRead) or len(reply.names) != len(part):
                raise DisconnectedError("a read was answered with something else")
            found += [None if n is None else Children(frozenset(n), 0, 0) for n in reply.names]
        return found

    def ensure(self, paths: Iterable[str], *, world_open: bool = False) -> None:
        del world_open
        for part in _parts(sorted(paths), PATHS_MAX):
            self.requests += 1
            self.session.ask(lambda n, part=part: Read(n, "ensure", part))  # type: ignore[misc]

    def commit(self, transactions: Sequence[Transaction]) -> list[Outcome]:
        """Commit as with a session of ZooKeeper: a transaction without an answer was executed, or
        will be, or never is. What is sent after it, on this stream or the next one, is executed
        after it.
        """
        outcomes: list[Outcome] = [InDoubt() if t else Done(()) for t in transactions]
        for numbers in _packets(transactions):
            self.requests += 1
            part = tuple(transactions[n] for n in numbers)
            try:
                reply = self.session.ask(lambda n, part=part: Commit(n, part))  # type: ignore[misc]
            except DisconnectedError:
                continue
            except SessionLostError:
                if not self.session.alive:
                    raise
                continue
            if isinstance(reply, Executed) and len(reply.outcomes) == len(numbers):
                for number, outcome in zip(numbers, reply.outcomes, strict=True):
                    outcomes[number] = outcome
        return outcomes


def _parts(values: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    for at in range(0, len(values), most):
        yield tuple(values[at : at + most])


def _packets(transactions: Sequence[Transaction]) -> list[list[int]]:
    packets: list[list[int]] = []
    size, operations = _BYTES_MAX, 0
    for number, transaction in enumerate(transactions):
        if not transaction:
            continue
        weight = sum(
            _OP_BYTES + len(op.path) + 2 * len(getattr(op, "data", b"")) for op in transaction
        )
        operations += len(transaction)
        if size + weight > _BYTES_MAX or operations > OPERATIONS_MAX:
            packets.append([])
            size, operations = 0, len(transaction)
        packets[-1].append(number)
        size += weight
    return packets
