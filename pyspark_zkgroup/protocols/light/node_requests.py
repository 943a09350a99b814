"""Reads and writes nodes for one light member, if it may. Under the gate of its name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from pyspark_zkgroup.group.ops import (
    Create,
    Delete,
    Done,
    InDoubt,
    Outcome,
    Refused,
    Transaction,
)
from pyspark_zkgroup.protocols.light.client import Client
from pyspark_zkgroup.protocols.light.nodes import consumer_of_owner, owner_of
from pyspark_zkgroup.protocols.light.quota import Quota
from pyspark_zkgroup.protocols.light.rules.messages import (
    ChildrenRead,
    Commit,
    Executed,
    Failed,
    NodeRead,
    NodesRead,
    Read,
    Reply,
)
from pyspark_zkgroup.protocols.light.rules.permits import (
    of_life,
    owners_beside,
    owners_written,
    refusal_of_ensure,
    refusal_of_read,
    refusal_of_write,
    settles,
)
from pyspark_zkgroup.zk.port import Node, NodeStore


class Others(Protocol):
    """What the coordinator knows of the other members."""

    def lives(self, group: str) -> dict[str, int]: ...
    def made_by(self, client: Client, czxid: int) -> bool: ...
    def is_connected(self, group: str, consumer: str) -> bool: ...


class NodeRequests:
    def __init__(self, client: Client, store: NodeStore, quota: Quota, others: Others) -> None:
        self.client = client
        self.paths = client.paths
        self.store = store
        self.quota = quota
        self.others = others
        self._owned: set[str] = set()

    def look_again(self) -> None:
        """Forget what it owns. An operator may have deleted an owner node meanwhile, and another
        member have created it again.
        """
        self._owned = set()

    def read(self, asked: Read) -> Reply:
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
            lives = self.others.lives(self.client.hello.group)
            both = zip(asked.paths, nodes, strict=True)
            return NodesRead(asked.number, tuple(self._shown(p, n, lives) for p, n in both))
        return Executed(asked.number, ())

    def commit(self, asked: Commit) -> Reply:
        group, consumer = self.client.name
        why = refusal_of_write(self.paths, consumer, asked.transactions)
        if not why and not self.client.life and not settles(self.paths, asked.transactions):
            why = "only a member that has registered may write, but for settling"
        why = why or self.quota.refusal_of(group, asked.transactions)
        if why:
            return Failed(asked.number, "forbidden", why)
        barred = self._barred(asked.transactions)
        allowed = [t for t in asked.transactions if t not in barred]
        life = self.client.life
        executed = self.store.commit([of_life(life, self.paths, consumer, t) for t in allowed])
        self.quota.count(group, allowed, executed)
        outcomes = iter(executed)
        found: list[Outcome] = []
        for transaction in asked.transactions:
            if transaction in barred:
                found.append(Refused(0, "version", "another live member owns it"))
                continue
            outcome = next(outcomes)
            if isinstance(outcome, Refused) and outcome.index == len(transaction):
                outcome = Refused(0, "version", f"the session of {consumer} has ended")
            found.append(outcome)
            self._learn(transaction, outcome)
        return Executed(asked.number, tuple(found))

    def _ensure(self, asked: Read) -> Reply:
        paths = asked.paths
        if not self.client.life:
            # For settling: the topic's node below owners/ may be missing, and no other.
            topics = [path.rpartition("/")[2] for path in paths]
            offsets = self.store.nodes([self.paths.offset_topic(t) for t in topics])
            paths = tuple(p for p, node in zip(paths, offsets, strict=True) if node is not None)
        why = self.quota.refusal_of_topics(self.client.hello.group, paths)
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
        return node is None or self.client.owns(node)

    def _may_move_offset(self, node: Node | None) -> bool:
        """Return whether the member may move the offset of a partition with this owner node.

        The partition must have no owner, or a predecessor that is gone, or a node that this very
        process has left there in a life that it has lost.
        """
        if node is None or self.client.owns(node):
            return True
        group, consumer = self.client.hello.group, consumer_of_owner(node)
        if consumer == self.client.hello.consumer:
            return not node.ephemeral_owner and self.others.made_by(self.client, node.node.czxid)
        return not node.ephemeral_owner and not self.others.is_connected(group, consumer)

    def _learn(self, transaction: Transaction, outcome: Outcome) -> None:
        for op in transaction:
            if not op.path.startswith(f"{self.paths.owners}/"):
                continue
            if isinstance(op, Create) and isinstance(outcome, Done):
                self._owned.add(op.path)
            elif isinstance(op, Delete) and isinstance(outcome, Done | InDoubt):
                self._owned.discard(op.path)
