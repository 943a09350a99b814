"""How finished work is committed: always under the fence of its plan, never on a guess.

DESIGN.md, "Ownership and progress", has the reasons for each branch.
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
    """Commit finished work of a partition that is held; the own registration must exist.

    Versions come back. All nodes of a group are lost; other members rebuild them, claim and
    commit, and owner and offset have the very versions that a member in a long batch remembers.
    But its registration cannot be back: it registers again only after it has looked at what it
    holds.
    """
    return (
        Check(paths.owner(tp), held.owner_version),
        Check(paths.id(consumer), ANY_VERSION),
        SetData(paths.offset(tp), b"%d" % known.done, known.fence.version),
    )


class Verdict(enum.Enum):
    OURS = "the write did go through"
    AGAIN = "nothing has changed: send it again"
    UNOWNED = "the owner node is gone and no member took over: settle it as one that is not held"
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
    """Decide what became of a commit that was refused or not answered, from both nodes.

    Both were read after a sync. Three facts together identify our own write: the node is the same,
    it has moved by exactly one version, and it has exactly the value we sent. The claim of another
    member also moves the node by one version, but keeps its value, and that value is not ours: a
    commit is only sent if it changes the value.
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
    """Return whether the consumer owns the node.

    Whole thread ids are compared: `c` and `c-1` are two consumers, and both are a prefix of
    `c-1-0`.
    """
    name, dash, number = owner.text.rpartition("-")
    return bool(dash) and name == consumer and number.isdecimal()


class NotHeld(enum.Enum):
    FORGET = "another client moved the fence: the group's offset counts"
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

    The transaction creates and deletes the owner node, which proves that the partition has no
    owner. An owner node of a zkgroup member under an unmoved fence can only be our own
    predecessor's.
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
