"""How finished work gets committed: always under the fence its plan carried, never on a guess.

The rules behind each branch are in DESIGN.md, "Ownership and progress".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pyspark_zkgroup.group.ops import (
    ANY_VERSION,
    Check,
    Create,
    Delete,
    NodeVersion,
    SetData,
    Transaction,
)
from pyspark_zkgroup.group.ownership import Held, Known, OffsetRead, OwnerRead
from pyspark_zkgroup.group.paths import GroupPaths
from pyspark_zkgroup.model import ThreadId, TopicPartition


def commit_held(
    paths: GroupPaths, consumer: str, tp: TopicPartition, known: Known, held: Held
) -> Transaction:
    """Versions come back. All nodes of a group are lost; others rebuild them, claim and commit, and
    owner and offset have the very versions that a member in a long batch remembers. What it cannot
    have got back is its registration: it registers anew only after it has looked at what it holds.
    """
    return (
        Check(paths.owner(tp), held.owner_version),
        Check(paths.id(consumer), ANY_VERSION),
        SetData(paths.offset(tp), b"%d" % known.done, known.fence.version),
    )


class Verdict(enum.Enum):
    OURS = "the write did go through"
    AGAIN = "nothing has changed: send it again"
    UNOWNED = "the owner node is gone and nobody took over: settle it as one that is not held"
    DROP = "another member has taken it over"
    MISSING = "the offset node is gone"
    FENCED = "another process of our own member id has taken it over"


@dataclass(frozen=True, slots=True)
class Resolution:
    verdict: Verdict
    fence: NodeVersion | None = None
    owner_version: int = 0


def resolve(
    known: Known,
    *,
    attempted: int,
    session: int,
    consumer: str,
    owner: OwnerRead | None,
    offset: OffsetRead | None,
) -> Resolution:
    """After a refused commit, or one whose answer was lost; both nodes were read after a sync.

    Our own write is known by three things at once: the same node, moved by exactly one version, to
    exactly the value we sent. A claim of another member moves it by one as well, but leaves the
    value it found, and that is not ours: nothing is sent unless the value changes.
    """
    if offset is None:
        return Resolution(Verdict.MISSING)
    if offset.node == known.fence:
        if owner is None:
            return Resolution(Verdict.UNOWNED)
        if owner.session == session:
            return Resolution(Verdict.AGAIN, known.fence, owner.version)
        if owner_is(owner, consumer):
            return Resolution(Verdict.FENCED)
        return Resolution(Verdict.DROP)
    next_version = NodeVersion(known.fence.czxid, known.fence.version + 1)
    if offset.node == next_version and offset.value == attempted and attempted != known.value:
        if owner is not None and owner.session == session:
            return Resolution(Verdict.OURS, offset.node, owner.version)
        return Resolution(Verdict.UNOWNED if owner is None else Verdict.DROP, offset.node)
    return Resolution(Verdict.DROP)


def owner_is(owner: OwnerRead, consumer: str) -> bool:
    """Compared on whole thread ids: `c` and `c-1` are two consumers, both could own `c-1-0`'s
    prefix.
    """
    name, dash, number = owner.text.rpartition("-")
    return bool(dash) and name == consumer and number.isdecimal()


class NotHeld(enum.Enum):
    FORGET = "somebody moved the fence: the group's offset counts"
    LATER = "a JVM member owns it and has not committed: its next commit or its end decides"
    REBUILD = "the offset node is gone: the checkpoint's position is all there is"


def settle_not_held(
    paths: GroupPaths,
    tp: TopicPartition,
    known: Known,
    *,
    thread: ThreadId,
    owner: OwnerRead | None,
    offset: OffsetRead | None,
) -> Transaction | NotHeld:
    """Commit finished work of a partition that is not (or no longer) held.

    Creating and deleting the owner node inside the transaction proves that nobody owns it. An owner
    node of a zkgroup member under an unmoved fence can only be our own predecessor's.
    """
    if offset is None:
        return NotHeld.REBUILD
    if offset.node != known.fence:
        return NotHeld.FORGET
    write = SetData(paths.offset(tp), b"%d" % known.done, known.fence.version)
    if owner is None:
        node = paths.owner(tp)
        return (Create(node, str(thread).encode(), ephemeral=True), write, Delete(node, 0))
    if owner.is_jvm:
        return NotHeld.LATER
    return (Check(paths.owner(tp), owner.version), write)
