"""ZooKeeper without a server: nodes, versions, transactions, watches, followers that lag.

Only what a server keeps. What a client sees of it, and how sessions live and end, is in
tests/fakes/session.py. The contract suites of the store and the session run on it as on real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple, Protocol

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, Op, SetData
from pyspark_zkgroup.zk.port import Node

NO_NODE, BAD_VERSION, NOT_EMPTY, EXISTS, NO_CHILDREN = -101, -103, -111, -110, -108
ROLLED_BACK, NOT_REACHED = 0, -2


class Time(Protocol):
    """The time everything in the fakes goes by."""

    @property
    def now(self) -> float: ...

    def after(self, seconds: float, act: Callable[[], None]) -> None: ...


# Each is called for every write on every server: `_replace` takes three times as long.


def _written(node: Node, data: bytes, zxid: int) -> Node:
    _, old, owner, children_version, made_ms, *_ = node
    version = NodeVersion(old.czxid, old.version + 1)
    return Node(data, version, owner, children_version, made_ms, zxid)


def _counted(node: Node, children_version: int) -> Node:
    data, version, owner, _, made_ms, modified, *_ = node
    return Node(data, version, owner, children_version, made_ms, modified)


class Change(NamedTuple):
    """One operation as it was executed: `before` or `after` is None where there is no node."""

    path: str
    before: Node | None
    after: Node | None
    zxid: int


class Write(NamedTuple):
    """One transaction, for those that look on. `session` 0 is an operator; `ending`: the nodes go
    because their session has ended, which its own client asked for where it is `closed`.
    """

    session: int
    changes: tuple[Change, ...]
    ending: bool = False
    closed: bool = False


Watcher = Callable[[str], None]


class Replica:
    """One server's nodes, and the watches of the clients that are connected to it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {"/": Node(b"", NodeVersion(0, 0), 0, 0)}
        self.kids: dict[str, set[str]] = {"/": set()}
        self.applied = 0
        self.data_watches: dict[str, dict[Watcher, None]] = {}
        self.child_watches: dict[str, dict[Watcher, None]] = {}

    def apply(self, change: Change) -> None:
        path, before, after, _ = change
        if before is not None and after is not None:
            # The number of changes among the children is this server's own count.
            self.nodes[path] = _counted(after, self.nodes[path].children_version)
            self._fire(self.data_watches, path)
            return
        above, _, name = path.rpartition("/")
        above = above or "/"
        if after is None:
            del self.nodes[path], self.kids[path]
            self.kids[above].discard(name)
        else:
            self.nodes[path] = after
            self.kids[path] = set()
            self.kids[above].add(name)
        parent = self.nodes[above]
        self.nodes[above] = _counted(parent, parent.children_version + 1)
        self._fire(self.data_watches, path)
        if after is None:
            self._fire(self.child_watches, path)
        self._fire(self.child_watches, above)

    def _fire(self, watches: dict[str, dict[Watcher, None]], path: str) -> None:
        for watcher in watches.pop(path, ()):
            watcher(path)

    def drop_watches(self, belongs: Callable[[Watcher], bool]) -> None:
        for watches in (self.data_watches, self.child_watches):
            for path in list(watches):
                left = {w: None for w in watches[path] if not belongs(w)}
                if left:
                    watches[path] = left
                else:
                    del watches[path]


class FakeZookeeper:
    def __init__(self, time: Time, rng: Random, *, followers: int = 0, lag_s: float = 0.2) -> None:
        self.time = time
        self.rng = rng
        self.leader = Replica()
        self.followers = [Replica() for _ in range(followers)]
        self.lag_s = lag_s
        self.up = True
        self.log: list[Change] = []
        self.zxid = 0x100000000
        self.ephemerals: dict[int, dict[str, None]] = {}
        self.ended: set[int] = set()
        self.lookers: list[Callable[[Write], None]] = []
        self._next_session = 0x10000000

    @property
    def replicas(self) -> list[Replica]:
        return [self.leader, *self.followers]

    def new_session(self) -> int:
        self._next_session += 1
        self.ephemerals[self._next_session] = {}
        return self._next_session

    def end_session(self, session: int, *, closed: bool = False) -> None:
        """With all its nodes, in one transaction. `closed`: as its own client asked."""
        if session in self.ended:
            return
        self.ended.add(session)
        paths = list(self.ephemerals.pop(session, ()))
        self.zxid += 1
        changes = tuple(Change(p, self.leader.nodes[p], None, self.zxid) for p in paths)
        self._execute(Write(session, changes, ending=True, closed=closed))

    def multi(self, session: int, operations: Sequence[Op]) -> list[NodeVersion | int | None]:
        """As the server answers it: each operation's result, or the number of its error."""
        changes: list[Change] = []
        seen: dict[str, Node | None] = {}
        grown: dict[str, int] = {}
        results: list[NodeVersion | int | None] = []
        zxid = self.zxid + 1
        for index, op in enumerate(operations):
            result = self._one(session, op, zxid, seen, grown, changes)
            if isinstance(result, int):
                not_reached = len(operations) - index - 1
                return [*[ROLLED_BACK] * index, result, *[NOT_REACHED] * not_reached]
            results.append(result)
        if changes:
            self.zxid = zxid
            self._execute(Write(session, tuple(changes)))
        return results

    def write(self, *operations: Op) -> None:
        """An operator's or a broker's, who writes past all sessions."""
        results = self.multi(0, operations)
        assert not any(isinstance(r, int) for r in results), (operations, results)

    def delete_tree(self, path: str) -> None:
        for name in sorted(self.leader.kids.get(path, ())):
            self.delete_tree(f"{path}/{name}")
        if path in self.leader.nodes:
            self.write(Delete(path, -1))

    def snapshot(self, root: str) -> dict[str, Node]:
        """The nodes below, as they are now."""
        return {p: n for p, n in sorted(self.leader.nodes.items()) if p.startswith(f"{root}/")}

    def restore(self, root: str, nodes: dict[str, Node]) -> None:
        """The nodes below are those of an earlier moment, lives and versions included. No session
        lives; nodes of sessions that are long over stay until those are ended once more.
        """
        self.zxid += 1
        now = self.snapshot(root)
        gone = [Change(p, n, None, self.zxid) for p, n in reversed(now.items()) if p not in nodes]
        back = [
            Change(p, now.get(p), n, self.zxid)
            for p, n in nodes.items()
            if p not in now or (n.data, n.node) != (now[p].data, now[p].node)
        ]
        for change in back:
            if change.after is not None and change.after.ephemeral_owner:
                self.ended.discard(change.after.ephemeral_owner)
                self.ephemerals.setdefault(change.after.ephemeral_owner, {})
        self._execute(Write(0, (*gone, *back)))

    def make(self, path: str, data: bytes = b"") -> None:
        """With all that is missing above it."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            node = "/" + "/".join(parts[:depth])
            if node not in self.leader.nodes:
                self.write(Create(node, data if depth == len(parts) else b""))

    def catch_up(self, replica: Replica, to: int | None = None) -> None:
        to = len(self.log) if to is None else to
        while replica.applied < to:
            change = self.log[replica.applied]
            replica.applied += 1
            replica.apply(change)

    def _one(
        self,
        session: int,
        op: Op,
        zxid: int,
        seen: dict[str, Node | None],
        grown: dict[str, int],
        changes: list[Change],
    ) -> NodeVersion | int | None:
        path = op.path
        if isinstance(op, Create) and op.sequential:
            path = self._numbered(path, changes)
        node = seen[path] if path in seen else self.leader.nodes.get(path)
        if isinstance(op, Create):
            above = parent_of(path)
            parent = seen[above] if above in seen else self.leader.nodes.get(above)
            if parent is None:
                return NO_NODE
            if parent.ephemeral_owner:
                return NO_CHILDREN
            if node is not None:
                return EXISTS
            owner = session if op.ephemeral else 0
            made_ms = int(self.time.now * 1000)
            after = Node(op.data, NodeVersion(zxid, 0), owner, 0, made_ms, zxid)
            grown[above] = grown.get(above, 0) + 1
        elif node is None:
            return NO_NODE
        elif op.version not in (-1, node.node.version):
            return BAD_VERSION
        elif isinstance(op, Check):
            return None
        elif isinstance(op, Delete):
            if len(self.leader.kids.get(path, ())) + grown.get(path, 0) > 0:
                return NOT_EMPTY
            grown[parent_of(path)] = grown.get(parent_of(path), 0) - 1
            changes.append(Change(path, node, None, zxid))
            seen[path] = None
            return None
        else:
            assert isinstance(op, SetData)
            after = _written(node, op.data, zxid)
        changes.append(Change(path, node, after, zxid))
        seen[path] = after
        return None if node is None else after.node

    def _numbered(self, path: str, changes: list[Change]) -> str:
        """With the count of all that has happened below the parent, as the servers number."""
        above = parent_of(path)
        parent = self.leader.nodes.get(above)
        before = 0 if parent is None else parent.children_version
        return f"{path}{before + sum(parent_of(c.path) == above for c in changes):010d}"

    def _execute(self, write: Write) -> None:
        for change in write.changes:
            self._note_owner(change)
        self.log += write.changes
        # Each server fires its own watches when it gets there, the leader at once.
        self.catch_up(self.leader)
        for look in self.lookers:
            look(write)
        for follower in self.followers:
            end = len(self.log)
            self.time.after(
                self.rng.random() * self.lag_s,
                lambda follower=follower, end=end: self.catch_up(follower, end),  # type: ignore[misc]
            )

    def _note_owner(self, change: Change) -> None:
        path, before, after, _ = change
        if after is None:
            if before is not None and before.ephemeral_owner:
                self.ephemerals.get(before.ephemeral_owner, {}).pop(path, None)
        elif before is None and after.ephemeral_owner:
            self.ephemerals[after.ephemeral_owner][path] = None


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"
