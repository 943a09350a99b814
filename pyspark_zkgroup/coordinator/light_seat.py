"""One light member's stream at its coordinator: what it asks is done for it, if it may.

Its gate, one for all streams under a name, is held while something is done; it is closed before the
member's nodes are given away or another stream takes its place: then nothing of it is executed any
more.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark_zkgroup.coordinator.light_nodes import (
    consumer_of_owner,
    delete_life,
    light_of,
    owner_of,
    read_light,
)
from pyspark_zkgroup.errors import AccessError, BadZnodeError
from pyspark_zkgroup.group.coordination.commands import Started
from pyspark_zkgroup.group.light.lease import beat_every_s
from pyspark_zkgroup.group.light.messages import (
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
from pyspark_zkgroup.group.light.permits import (
    refusal_of_ensure,
    refusal_of_read,
    refusal_of_write,
    takes,
    unowned_writes,
)
from pyspark_zkgroup.group.light.sessions import Life
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
from pyspark_zkgroup.group.registration import encode_registration, parse_registration
from pyspark_zkgroup.zk.port import DisconnectedError, Node, NodeStore, SessionLostError

if TYPE_CHECKING:
    # A candidate that listens to nobody needs no gRPC.
    from pyspark_zkgroup.coordinator.light_desk import LightDesk
    from pyspark_zkgroup.light.conversation import Outbox

_ANY_VERSION = -1
_log = logging.getLogger("pyspark_zkgroup.coordinator")


@dataclass(frozen=True, slots=True)
class Office:
    """One term. Everything is asked under the session that was elected: when that ends, no request
    of it is executed any more.
    """

    store: NodeStore
    epoch: int
    over: threading.Event


class Seat:
    """`life` is that of its registration, 0 before there is one."""

    def __init__(self, desk: LightDesk, office: Office, hello: Hello, outbox: Outbox) -> None:
        self.desk = desk
        self.office = office
        self.store = office.store
        self.hello = hello
        self.outbox = outbox
        self.paths = CoordinatedPaths(hello.group)
        self.life = 0
        self._gate = desk.gate_of(self.name)
        self._closed = False
        self._owned: set[str] = set()
        self._beat_s = beat_every_s(hello.timeout_ms / 1000.0)
        self._beat_at = float("-inf")
        self._pings = self._pongs = 0

    @property
    def name(self) -> tuple[str, str]:
        return self.hello.group, self.hello.consumer

    @property
    def named(self) -> Life:
        return Life(self.hello.group, self.hello.consumer, self.life)

    def beat(self, now: float) -> None:
        if now >= self._beat_at:
            self._beat_at = now + self._beat_s
            self._pings += 1
            self.outbox.put(Ping(self._pings, self._pongs))

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
                return self._register(message)
            if isinstance(message, Read):
                return self._read(message)
            if isinstance(message, Commit):
                return self._commit(message)
            life = self.named
            self.desk.end_life(life)
            delete_life(self.store, life)
            return Executed(message.number, ())
        except (DisconnectedError, SessionLostError) as error:
            return Failed(message.number, "offline", f"ZooKeeper does not answer ({error})")
        except (AccessError, BadZnodeError) as error:
            return Failed(message.number, "forbidden", str(error))

    # -- registering

    def _register(self, asked: Register) -> Reply:
        hello, path = self.hello, self.paths.id(self.hello.consumer)
        registration = parse_registration(path, asked.registration)
        seat = registration.light
        if seat is None or (seat.incarnation, seat.timeout_ms) != (
            hello.incarnation,
            hello.timeout_ms,
        ):
            return Failed(asked.number, "forbidden", "its registration is not that of its hello")
        registration = replace(
            registration, light=replace(seat, generation=f"{self.office.epoch}.0")
        )
        data = encode_registration(registration)
        self.store.ensure([self.paths.ids], world_open=True)
        (node,) = self.store.nodes([path])
        request: Transaction = (Create(path, data, world_open=True),)
        if node is not None:
            # Not read again: it may be gone by then, and what is gone is nobody's.
            found = light_of(path, node)
            if found is not None and found.seat.incarnation == hello.incarnation:
                return self._registered(asked, found.life)
            if found is None or not (asked.static and self._is_predecessor(asked)):
                who = "a live session" if found is None else "another process"
                return Failed(asked.number, "taken", f"{path} is held by {who}")
            for other in self.desk.others_of(self):
                other.fence(f"{path} is in the hands of another process")
            request = (Delete(path, found.node.node.version), *request)
            _log.warning("[ZKG-173] %s was taken over from its predecessor", path)
        (outcome,) = self.store.commit([request])
        if not isinstance(outcome, Done):
            # Somebody else was faster, or the answer is lost: asked again, its node is found.
            return Failed(asked.number, "offline", f"{path} was not made: {outcome}")
        made = read_light(self.store, self.paths, hello.consumer)
        if made is None or made.seat.incarnation != hello.incarnation:
            return Failed(asked.number, "offline", f"{path} is gone already")
        return self._registered(asked, made.life)

    def _registered(self, asked: Register, life: int) -> Reply:
        if not self.desk.settle(self, life):
            return Failed(asked.number, "offline", "its last session has not quite ended yet")
        # The node was seen, and the member told what to read, before we knew its life.
        self.desk.deliver(self)
        return Registered(asked.number, life)

    def fence(self, why: str) -> None:
        """By another stream under this name. The gate is that one's as well, and held by it: with a
        gate each, two that fence each other would wait for ever.
        """
        self._closed = True
        reason = f"Another process has taken over the member id {self.hello.consumer}: {why}"
        self.outbox.put(Rejected(reason, retriable=False, fenced=True))
        self.outbox.close()

    def _is_predecessor(self, asked: Register) -> bool:
        """Only the process that has logged that plan can have made an owner node of its own name
        under a fence that the plan carries, and Spark runs one query on a checkpoint.
        """
        partitions = sorted(asked.evidence)
        owners = self.store.nodes([self.paths.owner(p) for p in partitions])
        offsets = self.store.nodes([self.paths.offset(p) for p in partitions])
        return any(
            owner is not None
            and offset is not None
            and consumer_of_owner(owner) == self.hello.consumer
            and offset.node == asked.evidence[partition]
            for partition, owner, offset in zip(partitions, owners, offsets, strict=True)
        )

    def _note_generation(self, told: Told) -> None:
        """The node says which decision its member has obeyed."""
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
            _log.warning("[ZKG-174] %s was not brought up to date: %s", path, error)

    # -- reading and writing for the member

    def _read(self, asked: Read) -> Reply:
        ensure = asked.what == "ensure"
        why = (refusal_of_ensure if ensure else refusal_of_read)(self.paths, asked.paths)
        if why:
            return Failed(asked.number, "forbidden", why)
        if asked.what == "sync":
            self.store.sync()
        elif ensure:
            self.store.ensure(asked.paths)
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
        consumer = self.hello.consumer
        why = refusal_of_write(self.paths, consumer, asked.transactions)
        if not why and not self.life and takes(self.paths, asked.transactions):
            why = "only a member that has registered may own"
        if why:
            return Failed(asked.number, "forbidden", why)
        barred = self._barred(asked.transactions)
        allowed = [t for t in asked.transactions if t not in barred]
        outcomes = iter(self.store.commit([_persistent(t) for t in allowed]))
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
        """Those that touch what another live member owns. Versions fence all others."""
        asked = {t: unowned_writes(self.paths, t, self._owned) for t in transactions}
        paths = sorted({path for found in asked.values() for path in found})
        if not paths:
            return set()
        nodes = dict(zip(paths, self.store.nodes(paths), strict=True))
        return {t for t, found in asked.items() if any(self._is_anothers(nodes[p]) for p in found)}

    def _is_anothers(self, node: Node | None) -> bool:
        """Our own, a predecessor's that is gone, or nobody's node is not."""
        if node is None:
            return False
        consumer = consumer_of_owner(node)
        if consumer == self.hello.consumer:
            return False
        return bool(node.ephemeral_owner) or self.desk.is_connected(self.hello.group, consumer)

    def _learn(self, transaction: Transaction, outcome: Outcome) -> None:
        for op in transaction:
            if not op.path.startswith(f"{self.paths.owners}/"):
                continue
            if isinstance(op, Create) and isinstance(outcome, Done):
                self._owned.add(op.path)
            elif isinstance(op, Delete) and isinstance(outcome, Done | InDoubt):
                self._owned.discard(op.path)


def _persistent(transaction: Transaction) -> Transaction:
    """No session of the member's own would end an ephemeral node; the coordinator does."""
    return tuple(
        replace(op, ephemeral=False) if isinstance(op, Create) else op for op in transaction
    )
