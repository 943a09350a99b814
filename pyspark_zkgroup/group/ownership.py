"""The owner node and offset node of a partition as read, and what a member knows and holds."""

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
    """An owner node. Its data version is 0 for JVM members; zkgroup members rewrite the node once
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
    """An offset node.

    `value` is None if the text is no offset; JVM members treat a negative value as not set.
    `modified` is the transaction that last wrote the node, or 0 if that was not read.
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

    `value` is UNREAD if the node is known from a plan only, which may have been made while commits
    failed. `doubt` is the value of a commit that was sent and not answered.
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
    """Return the consumer of a thread id: it is the consumer id, a hyphen and the thread's
    number.
    """
    return thread.rpartition("-")[0]


def thread_of(text: str) -> ThreadId | None:
    """Return the thread id in an owner node, or None if it holds text that no member writes."""
    match = _THREAD.fullmatch(text)
    return ThreadId(match[1], int(match[2])) if match else None


def parse_offset(raw: bytes) -> int | None:
    """Parse an offset like Java's Long.parseLong: no blanks, an optional sign, 64 bits."""
    if not _OFFSET.fullmatch(raw):
        return None
    value = int(raw)
    return value if -_LONG_MAX - 1 <= value <= _LONG_MAX else None


def fence_of(node: NodeVersion, unanswered: int | None = None) -> Fence:
    """Return a fence. `unanswered` is the value of a commit under it that may still move it."""
    sent = "" if unanswered is None else f"+{unanswered}"
    return Fence(f"{node.czxid}.{node.version}{sent}")


def version_of(fence: Fence) -> NodeVersion | None:
    """Return the node's version before any unanswered commit.

    None for a fence of another protocol: it equals no offset node.
    """
    match = _FENCE.fullmatch(fence)
    return NodeVersion(int(match[1]), int(match[2])) if match else None


def unanswered_of(fence: Fence) -> int | None:
    """Return the value of the commit that was in doubt when the fence was put into its plan."""
    match = _FENCE.fullmatch(fence)
    return int(match[3]) if match and match[3] is not None else None


def answered(known: Known, offset: OffsetRead) -> Known:
    """Resolve an unanswered commit, and a value that was UNREAD, after the node has been read.

    Our own write has moved the node by one version, to the value that was sent. Any other change
    is the write of another client.
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
    """Return whether only the fence's own member has written the node since.

    Then the node has the fence's version, or the next version and exactly the value whose commit
    was unanswered. A claim would have kept the value that was there before.
    """
    match = _FENCE.fullmatch(fence)
    if match is None:
        return False
    node = NodeVersion(int(match[1]), int(match[2]))
    if match[3] is None or offset.node == node:
        return offset.node == node
    moved = NodeVersion(node.czxid, node.version + 1)
    return offset.node == moved and offset.value == int(match[3])
