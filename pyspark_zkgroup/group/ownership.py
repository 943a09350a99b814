"""What is read of one partition in ZooKeeper, and what a member knows and holds of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pyspark_zkgroup.group.ops import NodeVersion
from pyspark_zkgroup.model import Fence

_OFFSET = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LONG_MAX = 2**63 - 1
_FENCE = re.compile(r"([0-9]+)\.([0-9]+)", re.ASCII)


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


@dataclass(frozen=True, slots=True)
class Known:
    """A partition's progress: finished up to `done`; the group's node holds `value` under `fence`.

    `doubt` is a value whose commit was sent and never answered.
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


def parse_offset(raw: bytes) -> int | None:
    """As Java's Long.parseLong reads it: no blanks, a sign allowed, 64 bits."""
    try:
        text = raw.decode("ascii")
    except UnicodeDecodeError:
        return None
    if not _OFFSET.fullmatch(text):
        return None
    value = int(text)
    return value if -_LONG_MAX - 1 <= value <= _LONG_MAX else None


def fence_of(node: NodeVersion) -> Fence:
    return Fence(f"{node.czxid}.{node.version}")


def version_of(fence: Fence) -> NodeVersion | None:
    """None for a fence that another protocol issued: it equals no offset node."""
    match = _FENCE.fullmatch(fence)
    return NodeVersion(int(match[1]), int(match[2])) if match else None
