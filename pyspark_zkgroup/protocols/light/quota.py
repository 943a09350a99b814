"""Limits the nodes that light members of a group can create in one term of office.

The nodes of topics and offsets stay when their member goes, so the limit applies to the group,
whichever member creates them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pyspark_zkgroup.group.ops import Create, Delete, Done, Op, Outcome, Transaction
from pyspark_zkgroup.protocols.coordinator.rules.command_json import PARTITIONS_MAX

TOPICS_MAX = 20_000
"""Each has a node below owners/ and one below offsets/."""
NODES_MAX = 2 * PARTITIONS_MAX
"""An owner and an offset for every partition that a command may name."""
BYTES_MAX = 128 * 1024 * 1024


@dataclass(slots=True)
class _Made:
    topics: set[str] = field(default_factory=set)
    nodes: int = 0
    size: int = 0


class Quota:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made: dict[str, _Made] = {}

    def refusal_of_topics(self, group: str, paths: Iterable[str]) -> str:
        """Refuse nodes that only have children, and count them as created. Empty if allowed."""
        with self._lock:
            made = self._made.setdefault(group, _Made())
            new = set(paths) - made.topics
            if len(made.topics) + len(new) > 2 * TOPICS_MAX:
                return f"the members of {group} have asked for nodes of {TOPICS_MAX} topics"
            made.topics |= new
        return ""

    def refusal_of(self, group: str, transactions: Iterable[Transaction]) -> str:
        created = [op for t in transactions for op in t if isinstance(op, Create)]
        with self._lock:
            made = self._made.setdefault(group, _Made())
            if made.nodes + len(created) > NODES_MAX or made.size + _size(created) > BYTES_MAX:
                return f"the members of {group} have made {made.nodes} nodes of {made.size} bytes"
        return ""

    def count(
        self, group: str, transactions: Sequence[Transaction], outcomes: Sequence[Outcome]
    ) -> None:
        """Count what was executed, or may have been."""
        with self._lock:
            made = self._made.setdefault(group, _Made())
            for transaction, outcome in zip(transactions, outcomes, strict=True):
                created = [op for op in transaction if isinstance(op, Create)]
                deleted = [op for op in transaction if isinstance(op, Delete)]
                if isinstance(outcome, Done):
                    made.nodes += len(created) - len(deleted)
                    made.size += _size(created) - _size(deleted)

    def freed(self, group: str, nodes: int) -> None:
        """Subtract owner nodes that went with the life of a member."""
        with self._lock:
            made = self._made.get(group)
            if made is not None:
                made.nodes = max(0, made.nodes - nodes)


def _size(ops: Iterable[Op]) -> int:
    return sum(len(op.path) for op in ops)
