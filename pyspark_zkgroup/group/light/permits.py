"""What a light member may ask of ZooKeeper through its coordinator.

Members of one cluster share a token, so the coordinator keeps them apart: a member reads of its own
group, and of topics; it owns under its own name alone; and it writes the offset only of a partition
that it owns, or takes, in that very transaction.
"""

from __future__ import annotations

from collections.abc import Collection

from pyspark_zkgroup.group.ops import Check, Create, Delete, Op, SetData, Transaction
from pyspark_zkgroup.group.ownership import thread_of
from pyspark_zkgroup.group.paths import BROKER_TOPICS, CoordinatedPaths

PATHS_MAX = 2000
OPERATIONS_MAX = 12_000
# Longer than any number. What a node holds that is none is written back as it is (a fence that is
# moved in a replay).
_OFFSET_BYTES_MAX = 100


def refusal_of_read(paths: CoordinatedPaths, asked: Collection[str]) -> str:
    """Why these nodes may not be read; empty if they may."""
    if len(asked) > PATHS_MAX:
        return f"{len(asked)} nodes are asked for at once"
    own = (f"{paths.owners}/", f"{paths.offsets}/", f"{paths.ids}/", f"{BROKER_TOPICS}/")
    for path in asked:
        if not path.startswith(own) and path != paths.other_ids:
            return f"{path[:200]!r} is none of this member's concern"
    return ""


def refusal_of_ensure(paths: CoordinatedPaths, asked: Collection[str]) -> str:
    """Of nodes that only hold others: a topic's, below owners/ and offsets/."""
    if len(asked) > PATHS_MAX:
        return f"{len(asked)} nodes are asked for at once"
    for path in asked:
        parent, _, topic = path.rpartition("/")
        if parent not in (paths.owners, paths.offsets) or not topic:
            return f"{path[:200]!r} is none of this member's concern"
    return ""


def refusal_of_write(
    paths: CoordinatedPaths,
    consumer: str,
    transactions: Collection[Transaction],
) -> str:
    """Why these may not be executed, whatever the nodes hold; empty if they may."""
    if sum(len(transaction) for transaction in transactions) > OPERATIONS_MAX:
        return "too many operations are asked for at once"
    for transaction in transactions:
        for op in transaction:
            why = _refusal(paths, consumer, op)
            if why:
                return f"{why} ({op.path[:200]!r})"
    return ""


def takes(paths: CoordinatedPaths, transactions: Collection[Transaction]) -> bool:
    """Whether an owner node stays behind. Only the end of a registered life deletes it: that of a
    member without one would be there for ever. To settle takes none.
    """
    for transaction in transactions:
        made: set[str] = set()
        for op in transaction:
            if isinstance(op, Create) and op.path.startswith(f"{paths.owners}/"):
                made.add(op.path)
            elif isinstance(op, Delete):
                made.discard(op.path)
        if made:
            return True
    return False


def unowned_writes(
    paths: CoordinatedPaths, transaction: Transaction, owned: Collection[str]
) -> tuple[str, ...]:
    """The owner nodes, by path, that this transaction writes, deletes or commits beside, though the
    member is not known to own them (`owned`) and does not take them in it. What they hold decides.
    """
    taken = set(owned)
    found: dict[str, None] = {}
    for op in transaction:
        if op.path.startswith(f"{paths.owners}/"):
            if isinstance(op, Create):
                taken.add(op.path)
            elif not isinstance(op, Check) and op.path not in taken:
                found[op.path] = None
        elif isinstance(op, SetData):
            owner = paths.owners + op.path.removeprefix(paths.offsets)
            # A settling transaction takes the owner node, and gives it back in the end.
            if owner not in taken:
                found[owner] = None
    return tuple(found)


def _refusal(paths: CoordinatedPaths, consumer: str, op: Op) -> str:
    if op.path.startswith(f"{paths.owners}/"):
        if isinstance(op, Create | SetData) and op.data:
            thread = thread_of(op.data.decode("utf-8", "replace"))
            if thread is None or thread.consumer != consumer:
                return "a member owns under its own name"
        return ""
    if isinstance(op, Check) and op.path == paths.id(consumer):
        return ""
    if not op.path.startswith(f"{paths.offsets}/"):
        return "a member writes owners and offsets of its own group"
    if isinstance(op, Delete):
        return "no member deletes offsets"
    if isinstance(op, Create | SetData) and len(op.data) > _OFFSET_BYTES_MAX:
        return "this is no offset"
    return ""
