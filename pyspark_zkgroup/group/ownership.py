"""What is read of one partition in ZooKeeper, and what a member knows and holds of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.model import Fence, ThreadId

_OFFSET = re.compile(rb"[+-]?[0-9]{1,19}")
_THREAD = re.compile(r"(.+)-([0-9]{1,9})", re.ASCII | re.DOTALL)
_LONG_MAX = 2**63 - 1
_FENCE = re.compile(r"([0-9]+)\.([0-9]+)(?:\+([0-9]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class OwnerRead:
    """An owner node. Its data version is 0 for JVM members; zkgroup members rewrite theirs once
    when they claim.
    """

    text: str
    session: int
    version: int

    @property
    def is_jvm(self) -> bool:
        return self.version == 0


@dataclass(frozen=True, slots=True)
class OffsetRead:
    """An offset node. `value` is None where the text is no offset; below 0 the JVM takes it as not
    set. `modified` is the transaction that last wrote it, 0 where that was not asked.
    """

    raw: bytes
    node: NodeVersion
    modified: int = field(default=0, compare=False)

    @property
    def value(self) -> int | None:
        return parse_offset(self.raw)


UNREAD: Final = -1


@dataclass(frozen=True, slots=True)
class Known:
    """A partition's progress: finished up to `done`; the group's node holds `value` under `fence`.

    `value` is UNREAD where only a plan tells of the node: it may have been made while commits did
    not go through. `doubt` is a value whose commit was sent and never answered.
    """

    fence: NodeVersion
    done: int
    value: int
    doubt: int | None = None

    @property
    def unsettled(self) -> bool:
        return self.done != self.value


@dataclass(frozen=True, slots=True)
class Held:
    thread: int
    owner_version: int


def consumer_of(thread: str) -> str:
    """An owner node holds a thread id: the consumer id, a hyphen, and the number of the thread."""
    return thread.rpartition("-")[0]


def thread_of(text: str) -> ThreadId | None:
    """None where an owner node holds what no member writes."""
    match = _THREAD.fullmatch(text)
    return ThreadId(match[1], int(match[2])) if match else None


def parse_offset(raw: bytes) -> int | None:
    """As Java's Long.parseLong reads it: no blanks, a sign allowed, 64 bits."""
    if not _OFFSET.fullmatch(raw):
        return None
    value = int(raw)
    return value if -_LONG_MAX - 1 <= value <= _LONG_MAX else None


def fence_of(node: NodeVersion, unanswered: int | None = None) -> Fence:
    """`unanswered`: the value of a commit that was sent under this fence and may yet move it."""
    sent = "" if unanswered is None else f"+{unanswered}"
    return Fence(f"{node.czxid}.{node.version}{sent}")


def version_of(fence: Fence) -> NodeVersion | None:
    """The node before any unanswered commit. None for a fence that another protocol issued: it
    equals no offset node.
    """
    match = _FENCE.fullmatch(fence)
    return NodeVersion(int(match[1]), int(match[2])) if match else None


def unanswered_of(fence: Fence) -> int | None:
    """The value of the commit that was in doubt when the fence was put into its plan."""
    match = _FENCE.fullmatch(fence)
    return int(match[3]) if match and match[3] is not None else None


def answered(known: Known, offset: OffsetRead) -> Known:
    """Once the node has been read: what became of a commit that was never answered, and the value
    where it was UNREAD. Our own write has moved the node by one version, to the value sent;
    anything else was not ours.
    """
    if offset.node == known.fence and offset.value is not None:
        return replace(known, value=offset.value, doubt=None)
    if known.doubt is None:
        return known
    moved = NodeVersion(known.fence.czxid, known.fence.version + 1)
    if offset.node == moved and offset.value == known.doubt:
        return Known(moved, known.done, known.doubt)
    return replace(known, doubt=None)


def stands(fence: Fence, offset: OffsetRead) -> bool:
    """Whether nobody but the fence's own member has moved the node: it has the fence's version, or
    the next one and exactly the value whose commit was unanswered. A claim would have left the
    value that was there before.
    """
    match = _FENCE.fullmatch(fence)
    if match is None:
        return False
    node = NodeVersion(int(match[1]), int(match[2]))
    if match[3] is None or offset.node == node:
        return offset.node == node
    moved = NodeVersion(node.czxid, node.version + 1)
    return offset.node == moved and offset.value == int(match[3])
