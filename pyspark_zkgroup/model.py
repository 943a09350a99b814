"""The small values that every room uses: partitions, thread ids, ranges, fences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, NewType

Fence = NewType("Fence", str)
"""What a range is read and committed under. Opaque to all but the membership that issued it."""

Isolation = Literal["read_uncommitted", "read_committed"]
"""Which records count: all, or without those of aborted and open transactions."""

BrokeredKind = Literal["classic", "consumer"]
"""The protocol of a group that the brokers coordinate: the older one, or that of KIP-848."""


class _TopicPartition(NamedTuple):
    topic: str
    partition: int


class TopicPartition(_TopicPartition):
    """A tuple, since it is the key of most dicts: a dataclass is hashed and compared by Python
    code, three times as slowly.
    """

    __slots__ = ()

    def __new__(cls, topic: str, partition: int) -> TopicPartition:
        if not topic or partition < 0:
            raise ValueError(f"not a partition of a topic: {topic!r}, {partition!r}")
        return tuple.__new__(cls, (topic, partition))

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class ThreadId:
    """One consuming thread of a member. Sorted by its text, as the JVM does, never by number."""

    consumer: str
    number: int

    def __post_init__(self) -> None:
        if not self.consumer or self.number < 0:
            raise ValueError(f"not a thread id: {self.consumer!r}, {self.number!r}")

    def __str__(self) -> str:
        return f"{self.consumer}-{self.number}"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Half-open: `start` is the next record to read, `until` the first one that is not read."""

    start: int
    until: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.until:
            raise ValueError(f"not a range of offsets: [{self.start}, {self.until})")

    def __len__(self) -> int:
        return self.until - self.start

    def __str__(self) -> str:
        return f"[{self.start}, {self.until})"


@dataclass(frozen=True, slots=True)
class Mark:
    """Of which log an offset is: the topic's id, and the leader epoch in which its leader named it.
    An epoch below 0 and an empty id are those of brokers that do not tell.

    Within one topic epochs only grow. A log that ends, in a later epoch, before an offset that was
    named in this one was cut: its records from there on are gone, and others may have their place.
    """

    epoch: int = -1
    topic_id: str = ""

    @property
    def is_known(self) -> bool:
        return self.epoch >= 0

    def is_of_other_topic(self, other: Mark) -> bool:
        return "" != self.topic_id != other.topic_id != ""

    def is_older_than(self, other: Mark) -> bool:
        """Of the same topic, for certain, and of an earlier epoch."""
        return self.topic_id == other.topic_id != "" and 0 <= self.epoch < other.epoch


NO_MARK: Final = Mark()


@dataclass(frozen=True, slots=True)
class LogEnd:
    """`may_lag`: by a broker that may not know yet, just elected, how far the log is committed."""

    offset: int
    mark: Mark = NO_MARK
    may_lag: bool = False


@dataclass(frozen=True, slots=True)
class Sample:
    """Bytes that some offsets of a log take, as the brokers keep them."""

    offsets: int
    size_bytes: int

    def __post_init__(self) -> None:
        if self.offsets < 1 or self.size_bytes < 1:
            raise ValueError(f"not a sample: {self.size_bytes} bytes of {self.offsets} offsets")


@dataclass(frozen=True, slots=True)
class AbortedTransaction:
    """Records of this producer from `first_offset` to its next abort marker do not count."""

    producer_id: int
    first_offset: int


@dataclass(frozen=True, slots=True)
class StoredOffset:
    """An offset of a group as the brokers keep it; `note` is the text that was stored with it."""

    offset: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class BrokerMember:
    """A consumer whose group the brokers coordinate. What is not known is empty; `metadata` is its
    subscription, which brokers do not return during a rebalance.
    """

    client: str
    host: str = ""
    metadata: bytes = b""

    def __str__(self) -> str:
        return f"{self.client} at {self.host}" if self.host else self.client


@dataclass(frozen=True, slots=True)
class BrokeredMember:
    """A member as its group's coordinator describes it to any client.

    `assigned` and `topics` are empty while a classic group rebalances: its coordinator does not
    tell them then. Only groups of the consumer protocol (KIP-848) have a `target`, the partitions
    that the member is to get, and `is_classic` members, which still join the older way.
    """

    id: str
    client: str = ""
    host: str = ""
    instance: str | None = None
    topics: tuple[str, ...] = ()
    regex: str = ""
    assigned: frozenset[TopicPartition] = frozenset()
    target: frozenset[TopicPartition] | None = None
    is_zkgroup: bool = False
    is_classic: bool = False
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class BrokeredGroup:
    """A group that the brokers coordinate. `kind` is its protocol, `state` the coordinator's word
    for how it is; `trouble`: why it could not be described.
    """

    group: str
    kind: BrokeredKind = "classic"
    state: str = ""
    assignor: str = ""
    epoch: int | None = None
    members: tuple[BrokeredMember, ...] = ()
    coordinator: str = ""
    trouble: str = ""

    @property
    def is_rebalancing(self) -> bool:
        return bool(self.members) and self.state != "Stable"

    @property
    def shows_assignment(self) -> bool:
        return self.kind == "consumer" or self.state == "Stable"


@dataclass(frozen=True, slots=True)
class CommitRefused:
    """Why the brokers did not take an offset; `group_is_live`: they coordinate consumers in it."""

    reason: str
    group_is_live: bool = False
