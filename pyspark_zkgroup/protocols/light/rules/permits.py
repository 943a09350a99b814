"""What a light member may ask of ZooKeeper through its coordinator.

Members of a group share their token, so the coordinator keeps them apart. A member reads nodes of
its group, and of topics. It owns under its name alone. It writes the offset only of a partition
that it owns, or takes in the same transaction. A member that has not registered settles, and writes
nothing else.

Each write names the version that it changes, so it changes what was read before.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from pyspark_zkgroup.group.ops import ANY_VERSION, Check, Create, Delete, Op, SetData, Transaction
from pyspark_zkgroup.group.ownership import parse_offset, thread_of
from pyspark_zkgroup.group.paths import BROKER_TOPICS, CoordinatedPaths
from pyspark_zkgroup.jvm.topics import legal_name
from pyspark_zkgroup.protocols.light.rules.identity import INCARNATION_LENGTH_MIN
from pyspark_zkgroup.protocols.light.rules.messages import Hello

TIMEOUT_MS_MIN, TIMEOUT_MS_MAX = 1000, 3_600_000
PATHS_MAX = 2000
OPERATIONS_MAX = 12_000
# Longer than any number. A node that has no number is written back unchanged (when a replay moves a
# fence).
_OFFSET_BYTES_MAX = 100
_PARTITION_DIGITS_MAX = 10
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,1000}")
_SHOWN = 100
_NOT_ITS_OWN = "is none of this member's concern"


def refusal_of_hello(hello: Hello) -> str:
    """Return why this is no member that could be served; empty if it may be one.

    Its names become names of nodes, and appear in the log.
    """
    try:
        CoordinatedPaths(hello.group)
    except ValueError as error:
        return f"{error}"
    if not legal_name(hello.group):
        return f"{hello.group[:_SHOWN]!r} is not the name of a group"
    name = hello.consumer
    if not name.startswith(f"{hello.group}_") or not _NAME.fullmatch(name):
        return f"{name[:_SHOWN]!r} is not the name of a member of group {hello.group!r}"
    if len(hello.incarnation) < INCARNATION_LENGTH_MIN:
        return "the secret of its process is too short"
    if not TIMEOUT_MS_MIN <= hello.timeout_ms <= TIMEOUT_MS_MAX:
        return (
            f"session.timeout.ms is {hello.timeout_ms}, allowed are {TIMEOUT_MS_MIN} to "
            f"{TIMEOUT_MS_MAX}"
        )
    return ""


def refusal_of_read(paths: CoordinatedPaths, asked: Collection[str]) -> str:
    """Return why these nodes may not be read; empty if they may."""
    if len(asked) > PATHS_MAX:
        return f"{len(asked)} nodes are asked for at once"
    own = (f"{paths.owners}/", f"{paths.offsets}/", f"{paths.ids}/", f"{BROKER_TOPICS}/")
    for path in asked:
        if not path.startswith(own) and path != paths.other_ids:
            return f"{path[:200]!r} {_NOT_ITS_OWN}"
    return ""


def refusal_of_ensure(paths: CoordinatedPaths, asked: Collection[str]) -> str:
    """Return why these parent nodes may not be made; they are a topic's, in owners/ and
    offsets/.
    """
    if len(asked) > PATHS_MAX:
        return f"{len(asked)} nodes are asked for at once"
    for path in asked:
        parent, _, topic = path.rpartition("/")
        if parent not in (paths.owners, paths.offsets) or not legal_name(topic):
            return f"{path[:200]!r} {_NOT_ITS_OWN}"
    return ""


def refusal_of_write(
    paths: CoordinatedPaths,
    consumer: str,
    transactions: Collection[Transaction],
) -> str:
    """Return why these may not be executed, whatever the nodes hold; empty if they may."""
    if sum(len(transaction) for transaction in transactions) > OPERATIONS_MAX:
        return "too many operations are asked for at once"
    for transaction in transactions:
        for op in transaction:
            why = _refusal(paths, consumer, op)
            if why:
                return f"{why} ({op.path[:200]!r})"
    return ""


def settles(paths: CoordinatedPaths, transactions: Iterable[Transaction]) -> bool:
    """Return whether each only moves the offset of what a member has read before, and leaves
    nothing.

    Only the end of a registered life deletes owner nodes, so a settling transaction must not leave
    any.
    """
    return all(_settles(paths, transaction) for transaction in transactions)


def _settles(paths: CoordinatedPaths, transaction: Transaction) -> bool:
    """Return whether it has one of the two forms in settle.py: without an owner, or a
    predecessor.
    """
    if len(transaction) not in (2, 3):
        return False
    first, write = transaction[:2]
    if not isinstance(write, SetData) or not write.path.startswith(f"{paths.offsets}/"):
        return False
    value = parse_offset(write.data)
    owner = paths.owners + write.path.removeprefix(paths.offsets)
    if value is None or value < 0 or first.path != owner:
        return False
    if len(transaction) == 2:
        return isinstance(first, Check)
    return isinstance(first, Create) and transaction[2] == Delete(owner, 0)


def of_life(
    life: int, paths: CoordinatedPaths, consumer: str, transaction: Transaction
) -> Transaction:
    """Return what the coordinator executes: owner nodes are persistent, since no session of the
    member would end them, and none is made once the registration is gone.

    The coordinator deletes them with the registration. Another one may have done that: an operator
    deletes the node of the election, and until this one notices there are two.
    """
    if not any(isinstance(op, Create) and op.ephemeral for op in transaction):
        return transaction
    made = (replace(op, ephemeral=False) if isinstance(op, Create) else op for op in transaction)
    registered = (Check(paths.id(consumer), ANY_VERSION),) if life else ()
    return (*made, *registered)


def owners_written(paths: CoordinatedPaths, transaction: Transaction) -> tuple[str, ...]:
    """Return the existing owner nodes that the transaction changes or deletes."""
    made: set[str] = set()
    found: dict[str, None] = {}
    for op in transaction:
        if not op.path.startswith(f"{paths.owners}/") or isinstance(op, Check):
            continue
        if isinstance(op, Create):
            made.add(op.path)
        elif op.path not in made:
            found[op.path] = None
    return tuple(found)


def owners_beside(paths: CoordinatedPaths, transaction: Transaction) -> tuple[str, ...]:
    """Return the owner nodes of partitions whose offset it moves without taking them."""
    made = {op.path for op in transaction if isinstance(op, Create)}
    found: dict[str, None] = {}
    for op in transaction:
        if isinstance(op, SetData) and op.path.startswith(f"{paths.offsets}/"):
            owner = paths.owners + op.path.removeprefix(paths.offsets)
            if owner not in made:
                found[owner] = None
    return tuple(found)


def _refusal(paths: CoordinatedPaths, consumer: str, op: Op) -> str:
    if isinstance(op, Check) and op.path == paths.id(consumer):
        return ""
    if not isinstance(op, Create) and op.version <= ANY_VERSION:
        return "a member names the version that it has seen"
    if _is_partition(paths.owners, op.path):
        if isinstance(op, Create | SetData):
            thread = thread_of(op.data.decode("utf-8", "replace"))
            if thread is None or thread.consumer != consumer:
                return "a member owns under its own name"
        return ""
    if not _is_partition(paths.offsets, op.path):
        return "a member writes owners and offsets of its group"
    if isinstance(op, Delete):
        return "no member deletes offsets"
    if isinstance(op, Create | SetData) and len(op.data) > _OFFSET_BYTES_MAX:
        return "this is no offset"
    return ""


def _is_partition(root: str, path: str) -> bool:
    """Refuse topics that a cluster cannot have: their nodes would never be deleted."""
    above, _, number = path.rpartition("/")
    parent, _, topic = above.rpartition("/")
    is_number = number.isascii() and number.isdecimal() and len(number) <= _PARTITION_DIGITS_MAX
    return parent == root and is_number and str(int(number)) == number and legal_name(topic)
