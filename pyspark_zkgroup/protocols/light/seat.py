"""One light member's stream at its coordinator: executes its requests, if it may make them.

All streams under a name share one gate, which is held while a request is executed. It is closed
before the member's nodes are given away or another stream takes its place: after that no request of
this stream is executed.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from pyspark_zkgroup import catalogue
from pyspark_zkgroup.clock import EventClock
from pyspark_zkgroup.errors import AccessError, BadZnodeError
from pyspark_zkgroup.group.ops import (
    Create,
    Delete,
    Done,
    InDoubt,
    Outcome,
    Refused,
    SetData,
    Transaction,
)
from pyspark_zkgroup.group.paths import CoordinatedPaths
from pyspark_zkgroup.jvm.registration import encode_registration, parse_registration
from pyspark_zkgroup.protocols.coordinator.rules.commands import Answer, Started
from pyspark_zkgroup.protocols.light.nodes import (
    consumer_of_owner,
    delete_life,
    owner_of,
    read_light,
)
from pyspark_zkgroup.protocols.light.quota import Quota
from pyspark_zkgroup.protocols.light.rules import identity
from pyspark_zkgroup.protocols.light.rules.identity import Caller
from pyspark_zkgroup.protocols.light.rules.lease import beat_every_s
from pyspark_zkgroup.protocols.light.rules.messages import (
    ChildrenRead,
    Commit,
    Executed,
    Failed,
    Hello,
    Leave,
    NodeRead,
    NodesRead,
    Ping,
    Pong,
    Read,
    Register,
    Registered,
    Rejected,
    Reply,
    ToCoordinator,
    Told,
)
from pyspark_zkgroup.protocols.light.rules.permits import (
    owners_beside,
    owners_written,
    refusal_of_ensure,
    refusal_of_read,
    refusal_of_write,
    settles,
)
from pyspark_zkgroup.protocols.light.rules.sessions import Life
from pyspark_zkgroup.zk.port import DisconnectedError, Node, NodeStore, SessionLostError

if TYPE_CHECKING:
    # A candidate that does not listen needs no gRPC.
    from pyspark_zkgroup.protocols.light.conversation import Outbox

_log = logging.getLogger("pyspark_zkgroup.coordinator")


@dataclass(frozen=True, slots=True)
class Office:
    """One term. Every request runs under the session that was elected: when that ends, no request
    of the term is executed any more.
    """

    store: NodeStore
    epoch: int
    over: threading.Event


class Desk(Protocol):
    """What a stream needs of the other streams at its coordinator."""

    clock: EventClock
    quota: Quota
    register_within_s: float

    def gate_of(self, name: tuple[str, str]) -> AbstractContextManager[object]: ...
    def settle(self, seat: Seat, life: int) -> int: ...
    def deliver(self, seat: Seat) -> None: ...
    def heard(self, seat: Seat) -> bool: ...
    def answered(self, seat: Seat, answer: Answer) -> None: ...
    def lives(self, group: str) -> dict[str, int]: ...
    def has_rival(self, seat: Seat) -> bool: ...
    def supersede(self, life: Life) -> None: ...
    def made_by(self, seat: Seat, czxid: int) -> bool: ...
    def is_connected(self, group: str, consumer: str) -> bool: ...
    def others_of(self, seat: Seat) -> list[Seat]: ...
    def leave(self, seat: Seat) -> None: ...
    def end_life(self, life: Life) -> None: ...


class Seat:
    """`life` is that of its registration, 0 before there is one."""

    def __init__(
        self,
        desk: Desk,
        office: Office,
        hello: Hello,
        outbox: Outbox,
        caller: Caller,
        register: Callable[[Seat, Register], Reply],
    ) -> None:
        self.desk = desk
        self.register = register
        self.caller = caller
        self.shown = identity.shown(hello.group, hello.consumer, hello.incarnation)
        self.office = office
        self.store = office.store
        self.hello = hello
        self.outbox = outbox
        self.paths = CoordinatedPaths(hello.group)
        self.life = 0
        self._gate = desk.gate_of(self.name)
        self.is_static = self._closed = False
        self._owned: set[str] = set()
        self._beat_s = beat_every_s(hello.timeout_ms / 1000.0)
        self._beat_at = float("-inf")
        self._pings = self._pongs = 0
        self.asked_at = desk.clock.monotonic()

    @property
    def name(self) -> tuple[str, str]:
        return self.hello.group, self.hello.consumer

    @property
    def named(self) -> Life:
        return Life(self.hello.group, self.hello.consumer, self.life)

    def is_same_process(self, other: Seat) -> bool:
        return self.name == other.name and identity.is_same(self.shown, other.shown)

    def beat(self, now: float) -> None:
        if now >= self._beat_at:
            self._beat_at = now + self._beat_s
            self._pings += 1
            # An operator may have deleted one meanwhile, and another member have created it again.
            self._owned = set()
            self.outbox.put(Ping(self._pings, self._pongs))

    def is_late(self, now: float) -> bool:
        """Return whether it should have registered by now. Until then it has a place, and holds
        nothing.
        """
        return not self.life and now - self.asked_at > self.desk.register_within_s

    def close(self) -> None:
        with self._gate:
            self._closed = True
        self.outbox.close()

    def cut(self) -> None:
        with self._gate:
            self._closed = True
        self.outbox.cut()

    # -- in the thread of the stream

    def take(self, message: ToCoordinator) -> None:
        with self._gate:
            if self._closed or self.office.over.is_set() or not self.desk.heard(self):
                return
            if isinstance(message, Pong):
                self._pongs = max(self._pongs, message.number)
            elif isinstance(message, Told):
                self._note_generation(message)
                self.desk.answered(self, message.answer)
            elif not isinstance(message, Hello):
                self.outbox.put(self._served(message))

    def end(self) -> None:
        self.desk.leave(self)

    def _served(self, message: Register | Read | Commit | Leave) -> Reply:
        try:
            if isinstance(message, Register):
                return self.register(self, message)
            if isinstance(message, Read):
                return self._read(message)
            if isinstance(message, Commit):
                return self._commit(message)
            if self.life:
                life = self.named
                self.desk.end_life(life)
                self.desk.quota.freed(life.group, delete_life(self.store, life))
            return Executed(message.number, ())
        except (DisconnectedError, SessionLostError) as error:
            return Failed(message.number, "offline", f"ZooKeeper does not answer ({error})")
        except (AccessError, BadZnodeError) as error:
            return Failed(message.number, "forbidden", f"{error}")

    # -- registering

    def registered(self, asked: Register, life: int) -> Reply:
        if not self.desk.settle(self, life):
            return Failed(asked.number, "offline", "its last session has not quite ended yet")
        # The node was seen, and commands to the member sent, before we knew its life.
        self.desk.deliver(self)
        return Registered(asked.number, life)

    def fence(self, why: str) -> None:
        """End it for another stream under this name, which holds the gate that both share.

        With a gate each, two streams that fence each other would wait permanently.
        """
        self._closed = True
        reason = f"Another process has taken over the member id {self.hello.consumer}: {why}"
        self.outbox.put(Rejected(reason, retriable=False, fenced=True))
        self.outbox.close()

    def _note_generation(self, told: Told) -> None:
        """Write the decision that the member has obeyed into its node."""
        answer = told.answer
        if not isinstance(answer, Started) or answer.life != self.life:
            return
        path = self.paths.id(self.hello.consumer)
        try:
            found = read_light(self.store, self.paths, self.hello.consumer)
            if found is None or found.life != self.life:
                return
            registration = parse_registration(path, found.node.data)
            seat = replace(found.seat, generation=str(answer.generation))
            data = encode_registration(replace(registration, light=seat))
            self.store.commit([(SetData(path, data, found.node.node.version),)])
        except (DisconnectedError, SessionLostError) as error:
            _log.warning(catalogue.warning("ZKG-174", path=path, error=error))

    # -- reading and writing for the member

    def _read(self, asked: Read) -> Reply:
        ensure = asked.what == "ensure"
        why = (refusal_of_ensure if ensure else refusal_of_read)(self.paths, asked.paths)
        if why:
            return Failed(asked.number, "forbidden", why)
        if asked.what == "sync":
            self.store.sync()
        elif ensure:
            return self._ensure(asked)
        elif asked.what == "children":
            listed = self.store.children(asked.paths)
            names = tuple(None if c is None else tuple(sorted(c.names)) for c in listed)
            return ChildrenRead(asked.number, names)
        else:
            nodes = self.store.nodes(asked.paths)
            lives = self.desk.lives(self.hello.group)
            both = zip(asked.paths, nodes, strict=True)
            return NodesRead(asked.number, tuple(self._shown(p, n, lives) for p, n in both))
        return Executed(asked.number, ())

    def _ensure(self, asked: Read) -> Reply:
        paths = asked.paths
        if not self.life:
            # For settling: the topic's node below owners/ may be missing, and no other.
            topics = [path.rpartition("/")[2] for path in paths]
            offsets = self.store.nodes([self.paths.offset_topic(t) for t in topics])
            paths = tuple(p for p, node in zip(paths, offsets, strict=True) if node is not None)
        why = self.desk.quota.refusal_of_topics(self.hello.group, paths)
        if why:
            return Failed(asked.number, "forbidden", why)
        self.store.ensure(paths)
        return Executed(asked.number, ())

    def _shown(self, path: str, node: Node | None, lives: dict[str, int]) -> NodeRead | None:
        if node is None:
            return None
        owner = node.ephemeral_owner
        if path.startswith(f"{self.paths.ids}/"):
            owner = owner or node.node.czxid
        elif path.startswith(f"{self.paths.owners}/"):
            owner = owner_of(node, lives)
        return NodeRead(node.data, node.node, owner, node.modified)

    def _commit(self, asked: Commit) -> Reply:
        why = refusal_of_write(self.paths, self.hello.consumer, asked.transactions)
        if not why and not self.life and not settles(self.paths, asked.transactions):
            why = "only a member that has registered may write, but for settling"
        why = why or self.desk.quota.refusal_of(self.hello.group, asked.transactions)
        if why:
            return Failed(asked.number, "forbidden", why)
        barred = self._barred(asked.transactions)
        allowed = [t for t in asked.transactions if t not in barred]
        executed = self.store.commit([_persistent(t) for t in allowed])
        self.desk.quota.count(self.hello.group, allowed, executed)
        outcomes = iter(executed)
        found: list[Outcome] = []
        for transaction in asked.transactions:
            if transaction in barred:
                found.append(Refused(0, "version", "another live member owns it"))
                continue
            outcome = next(outcomes)
            found.append(outcome)
            self._learn(transaction, outcome)
        return Executed(asked.number, tuple(found))

    def _barred(self, transactions: Sequence[Transaction]) -> set[Transaction]:
        """Return those that touch what another member owns. Versions fence all others."""
        written = {t: set(owners_written(self.paths, t)) for t in transactions}
        beside = {t: set(owners_beside(self.paths, t)) - self._owned for t in transactions}
        paths = sorted({p for found in (written, beside) for t in found for p in found[t]})
        if not paths:
            return set()
        nodes = dict(zip(paths, self.store.nodes(paths), strict=True))
        return {
            t
            for t in transactions
            if not all(self._is_its_own(nodes[p]) for p in written[t])
            or not all(self._may_move_offset(nodes[p]) for p in beside[t])
        }

    def _is_its_own(self, node: Node | None) -> bool:
        """Return whether its life made the node, or a predecessor that it was allowed to succeed.

        The name alone proves nothing: another process may have the same name.
        """
        if node is None:
            return True
        if node.ephemeral_owner or consumer_of_owner(node) != self.hello.consumer or not self.life:
            return False
        return self.is_static or node.node.czxid > self.life

    def _may_move_offset(self, node: Node | None) -> bool:
        """Return whether the member may move the offset of a partition with this owner node.

        The partition must have no owner, or a predecessor that is gone, or a node that this very
        process has left there in a life that it has lost.
        """
        if node is None or self._is_its_own(node):
            return True
        consumer = consumer_of_owner(node)
        if consumer == self.hello.consumer:
            return not node.ephemeral_owner and self.desk.made_by(self, node.node.czxid)
        return not node.ephemeral_owner and not self.desk.is_connected(self.hello.group, consumer)

    def _learn(self, transaction: Transaction, outcome: Outcome) -> None:
        for op in transaction:
            if not op.path.startswith(f"{self.paths.owners}/"):
                continue
            if isinstance(op, Create) and isinstance(outcome, Done):
                self._owned.add(op.path)
            elif isinstance(op, Delete) and isinstance(outcome, Done | InDoubt):
                self._owned.discard(op.path)


def _persistent(transaction: Transaction) -> Transaction:
    """Make ephemeral nodes persistent: no session of the member would end them; the coordinator
    does.
    """
    return tuple(
        replace(op, ephemeral=False) if isinstance(op, Create) else op for op in transaction
    )
