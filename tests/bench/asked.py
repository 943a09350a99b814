"""What is asked of ZooKeeper, and on whose account."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from operator import add, sub
from typing import Any

from pyspark_zkgroup.group.ops import Transaction
from pyspark_zkgroup.zk.port import NodeStore


@dataclass
class Asked:
    """`nodes` that were read, the `reads` that asked for them, and `writes`: transactions.
    `messages`: over the stream of a light member, both ways, without beats.
    """

    nodes: int = 0
    reads: int = 0
    writes: int = 0
    messages: int = 0

    def copy(self) -> Asked:
        return Asked(*astuple(self))

    def minus(self, other: Asked) -> Asked:
        return Asked(*map(sub, astuple(self), astuple(other)))


def total(every: Iterable[Asked]) -> Asked:
    found = Asked()
    for one in every:
        found = Asked(*map(add, astuple(found), astuple(one)))
    return found


class Counting:
    """Counts what goes through a store. `bill`: on whose account it goes, where several share it;
    `armed`: the watches that were set and have not fired.
    """

    def __init__(self, store: NodeStore, bill: Callable[[], Asked] | None = None) -> None:
        self.asked = Asked()
        self.bill = bill or (lambda: self.asked)
        self.armed: set[tuple[str, str]] = set()
        for name in ("nodes", "stats", "children"):
            setattr(store, name, self._reads(name, getattr(store, name)))
        commit = store.commit

        def counted(transactions: Sequence[Transaction]) -> Any:
            self.bill().writes += sum(1 for t in transactions if t)
            return commit(transactions)

        store.commit = counted  # type: ignore[method-assign]

    def _reads(self, name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
        kind = "children" if name == "children" else "data"

        def counted(paths: Sequence[str], *, watch: bool = False) -> Any:
            account = self.bill()
            account.nodes += len(paths)
            account.reads += bool(paths)
            found = plain(paths, watch=watch)
            if watch:
                # Only exists() leaves a watch where no node is.
                there = zip(paths, found, strict=True)
                self.armed |= {(kind, path) for path, one in there if one or name == "stats"}
            return found

        return counted

    def fired(self, path: str) -> None:
        self.armed -= {("data", path), ("children", path)}
