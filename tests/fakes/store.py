"""Reads and transactions of a fake session: the real store's packets and outcomes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark_zkgroup.group.ops import NodeVersion, Op, Transaction
from pyspark_zkgroup.zk.store import Children, Node, Store
from tests.fakes.session import FakeSession


class FakeStore(Store):
    """The real store's packets and outcomes over the fake's requests."""

    session: FakeSession

    def __init__(self, session: FakeSession) -> None:
        self.session = session
        self.requests = 0
        self._chroot: str = session.settings.chroot

    def sync(self, path: str = "/") -> None:
        self.requests += 1
        session = self.session
        session.call("sync", lambda: session.server.catch_up(session.replica))

    def nodes(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        return self._reads("nodes", paths, self._get, watch)

    def stats(self, paths: Sequence[str], *, watch: bool = False) -> list[Node | None]:
        return self._reads("stats", paths, self._exists, watch)

    def children(self, paths: Sequence[str], *, watch: bool = False) -> list[Children | None]:
        return self._reads("children", paths, self._list, watch)

    def _reads(
        self, what: str, paths: Sequence[str], read: Callable[[str, bool], Any], watch: bool
    ) -> list[Any]:
        session, count = self.session, len(paths)
        if not session.connected:
            raise self._offline()
        if not paths:
            return []
        self.requests += count
        shown = f"{what} {paths[0]}" if count == 1 else f"{what} {paths[0]} and {count - 1} more"
        # They fly together, but others' writes may come in between.
        cut = 0
        found: list[Any] = []
        if count > 1 and session.rng.random() < 0.1:
            cut = session.rng.randrange(1, count)
            found += session.call(shown, lambda: [read(p, watch) for p in paths[:cut]])
        found += session.call(shown, lambda: [read(p, watch) for p in paths[cut:]])
        return found

    def _get(self, path: str, watch: bool) -> Node | None:
        node = self.session.replica.nodes.get(self._full(path))
        if watch and node is not None:
            self._watch(self.session.replica.data_watches, path)
        return node

    def _exists(self, path: str, watch: bool) -> Node | None:
        if watch:
            self._watch(self.session.replica.data_watches, path)
        node = self.session.replica.nodes.get(self._full(path))
        return None if node is None else Node(b"", *node[1:])

    def _list(self, path: str, watch: bool) -> Children | None:
        full = self._full(path)
        node = self.session.replica.nodes.get(full)
        if node is None:
            return None
        if watch:
            self._watch(self.session.replica.child_watches, path)
        names = self.session.replica.kids[full]
        return Children(frozenset(names), node.children_version, node.node.czxid)

    def _full(self, path: str) -> str:
        if not self._chroot:
            return path
        return self._chroot + path if path != "/" else self._chroot

    def _watch(self, watches: dict[str, dict[Any, None]], path: str) -> None:
        full = self._full(path)
        watcher = self.session.watched if not self._chroot else _Chrooted(self.session, path)
        watches.setdefault(full, {})[watcher] = None

    def _send(self, packet: list[int], transactions: Sequence[Transaction]) -> Any:
        self.requests += 1
        session = self.session
        operations = [op for index in packet for op in transactions[index]]
        if self._chroot:
            operations = [
                type(op)(**{**_fields(op), "path": self._full(op.path)}) for op in operations
            ]

        execute = self._execution(operations)
        return lambda: session.call(_shown(operations), execute)

    def _execution(self, operations: Sequence[Op]) -> Callable[[], list[NodeVersion | int | None]]:
        """Which may come about much later than it was sent."""
        session = self.session

        def execute() -> list[NodeVersion | int | None]:
            results = session.server.multi(session.id, operations)
            session.server.catch_up(session.replica)
            session.multi_at = session.world.now
            return results

        return execute


@dataclass(frozen=True)
class _Chrooted:
    """The client knows the path without its chroot."""

    __self__: FakeSession
    path: str

    def __call__(self, _path: str) -> None:
        self.__self__.watched(self.path)


def _fields(op: Any) -> dict[str, Any]:
    return {name: getattr(op, name) for name in op.__dataclass_fields__}


def _shown(operations: Sequence[Any]) -> str:
    return "multi " + ", ".join(f"{type(op).__name__} {op.path}" for op in operations[:8])
