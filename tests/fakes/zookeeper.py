"""ZooKeeper without a server: nodes, versions, transactions, watches, followers that lag.

Only what a server keeps. What a client sees of it, and how sessions live and end, is in
tests/fakes/session.py. The contract suites of the store and the session run on it as on real ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from pyspark_zkgroup.group.ops import Check, Create, Delete, NodeVersion, Op, SetData

NO_NODE, BAD_VERSION, NOT_EMPTY, EXISTS, NO_CHILDREN = -101, -103, -111, -110, -108
ROLLED_BACK, NOT_REACHED = 0, -2


class Time(Protocol):
    """The time everything in the fakes goes by."""

    @property
    def now(self) -> float: ...

    def after(self, seconds: float, act: Callable[[], None]) -> None: ...


@dataclass(frozen=True, slots=True)
class Stat:
    data: bytes
    czxid: int
    version: int = 0
    cversion: int = 0
    owner: int = 0
    made_ms: int = 0
    mzxid: int = 0

    # Each is called for every write on every server: dataclasses.replace takes five times as long.

    def written(self, data: bytes, zxid: int) -> Stat:
        version = self.version + 1
        return Stat(data, self.czxid, version, self.cversion, self.owner, self.made_ms, zxid)

    def counted(self, cversion: int) -> Stat:
        return Stat(
            self.data, self.czxid, self.version, cversion, self.owner, self.made_ms, self.mzxid
        )


@dataclass(frozen=True, slots=True)
class Change:
    """One operation as it was executed: `before` or `after` is None where there is no node."""

    path: str
    before: Stat | None
    after: Stat | None
    zxid: int


@dataclass(frozen=True, slots=True)
class Write:
    """One transaction, for those that look on. `session` 0 is an operator; `ending`: the nodes go
    because their session has ended.
    """

    session: int
    changes: tuple[Change, ...]
    ending: bool = False


Watcher = Callable[[str], None]


class Replica:
    """One server's nodes, and the watches of the clients that are connected to it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Stat] = {"/": Stat(b"", 0)}
        self.kids: dict[str, set[str]] = {"/": set()}
        self.applied = 0
        self.data_watches: dict[str, dict[Watcher, None]] = {}
        self.child_watches: dict[str, dict[Watcher, None]] = {}

    def apply(self, change: Change) -> None:
        path, after = change.path, change.after
        above = parent_of(path)
        if after is None:
            del self.nodes[path], self.kids[path]
            self._count(above, path, False)
            self._fire(self.data_watches, path, path)
            self._fire(self.child_watches, path, path)
            self._fire(self.child_watches, above, above)
        elif change.before is None:
            self.nodes[path] = after
            self.kids[path] = set()
            self._count(above, path, True)
            self._fire(self.data_watches, path, path)
            self._fire(self.child_watches, above, above)
        else:
            # The number of changes among the children is this server's own count.
            self.nodes[path] = after.counted(self.nodes[path].cversion)
            self._fire(self.data_watches, path, path)

    def _count(self, above: str, path: str, made: bool) -> None:
        name = path.rpartition("/")[2]
        (self.kids[above].add if made else self.kids[above].discard)(name)
        stat = self.nodes[above]
        self.nodes[above] = stat.counted(stat.cversion + 1)

    def _fire(self, watches: dict[str, dict[Watcher, None]], path: str, told: str) -> None:
        for watcher in watches.pop(path, ()):
            watcher(told)

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

    def end_session(self, session: int) -> None:
        """With all its nodes, in one transaction."""
        if session in self.ended:
            return
        self.ended.add(session)
        paths = list(self.ephemerals.pop(session, ()))
        self.zxid += 1
        changes = tuple(Change(p, self.leader.nodes[p], None, self.zxid) for p in paths)
        self._execute(Write(session, changes, ending=True))

    def multi(self, session: int, operations: Sequence[Op]) -> list[NodeVersion | int | None]:
        """As the server answers it: each operation's result, or the number of its error."""
        changes: list[Change] = []
        seen: dict[str, Stat | None] = {}
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
        seen: dict[str, Stat | None],
        grown: dict[str, int],
        changes: list[Change],
    ) -> NodeVersion | int | None:
        path = op.path
        if isinstance(op, Create) and op.sequential:
            path = self._numbered(path, changes)
        stat = seen[path] if path in seen else self.leader.nodes.get(path)
        if isinstance(op, Create):
            above = parent_of(path)
            parent = seen[above] if above in seen else self.leader.nodes.get(above)
            if parent is None:
                return NO_NODE
            if parent.owner:
                return NO_CHILDREN
            if stat is not None:
                return EXISTS
            owner = session if op.ephemeral else 0
            after = Stat(op.data, zxid, owner=owner, made_ms=int(self.time.now * 1000), mzxid=zxid)
            grown[above] = grown.get(above, 0) + 1
        elif stat is None:
            return NO_NODE
        elif op.version not in (-1, stat.version):
            return BAD_VERSION
        elif isinstance(op, Check):
            return None
        elif isinstance(op, Delete):
            if len(self.leader.kids.get(path, ())) + grown.get(path, 0) > 0:
                return NOT_EMPTY
            grown[parent_of(path)] = grown.get(parent_of(path), 0) - 1
            changes.append(Change(path, stat, None, zxid))
            seen[path] = None
            return None
        else:
            assert isinstance(op, SetData)
            after = stat.written(op.data, zxid)
        changes.append(Change(path, stat, after, zxid))
        seen[path] = after
        return None if stat is None else NodeVersion(after.czxid, after.version)

    def _numbered(self, path: str, changes: list[Change]) -> str:
        """With the count of all that has happened below the parent, as the servers number."""
        above = parent_of(path)
        parent = self.leader.nodes.get(above)
        before = 0 if parent is None else parent.cversion
        return f"{path}{before + sum(parent_of(c.path) == above for c in changes):010d}"

    def _execute(self, write: Write) -> None:
        for change in write.changes:
            self._note_owner(change)
            self.log.append(change)
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
        if change.before is not None and change.after is None and change.before.owner:
            self.ephemerals.get(change.before.owner, {}).pop(change.path, None)
        if change.before is None and change.after is not None and change.after.owner:
            self.ephemerals[change.after.owner][change.path] = None


def parent_of(path: str) -> str:
    return path.rpartition("/")[0] or "/"
