"""What members of a group tell their leader, and the leader them: the bytes that plain consumers
exchange.

A subscription is of version 2 or later where it names the generation its owned partitions are of.
A Java leader disbelieves owned partitions of an older generation than others', and would give them
away at once. A newer version than we know is read as the newest one we know: by Kafka's promise it
only adds fields at the end.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.model import TopicPartition

NO_GENERATION = -1

_SUBSCRIPTION_VERSION = 2
_ASSIGNMENT_VERSION = 1
_MARK = b"zkgroup"


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """`generation` is None where the member does not say of which generation its `owned` are."""

    topics: tuple[str, ...]
    owned: frozenset[TopicPartition] = frozenset()
    generation: int | None = None
    is_zkgroup: bool = False


@dataclass(frozen=True, slots=True)
class MemberAssignment:
    """`by_zkgroup`: the leader that made it looks after first positions."""

    partitions: frozenset[TopicPartition] = frozenset()
    by_zkgroup: bool = False


def encode_subscription(subscription: MemberSubscription) -> bytes:
    """The user data begins with the generation, where older Java members look for it; they pass
    over what follows.
    """
    generation = NO_GENERATION if subscription.generation is None else subscription.generation
    user_data = struct.pack(">i", generation) + (_MARK if subscription.is_zkgroup else b"")
    return b"".join(
        (
            struct.pack(">h", _SUBSCRIPTION_VERSION),
            struct.pack(">i", len(subscription.topics)),
            *(_string(topic) for topic in subscription.topics),
            _bytes(user_data),
            _partitions(subscription.owned),
            struct.pack(">i", generation),
        )
    )


def decode_subscription(data: bytes) -> MemberSubscription:
    """ValueError where the bytes are no subscription."""
    reader = _Reader(data)
    version = reader.int16()
    topics = tuple(reader.string() for _ in range(reader.count(2)))
    user_data = reader.nullable_bytes()
    owned = reader.partitions() if version >= 1 else frozenset()
    generation: int | None = reader.int32() if version >= 2 else None
    if generation is None and version >= 1 and len(user_data) >= 4:
        generation = int(struct.unpack_from(">i", user_data)[0])
    return MemberSubscription(topics, owned, generation, user_data[4:] == _MARK)


def encode_assignment(assignment: MemberAssignment) -> bytes:
    return b"".join(
        (
            struct.pack(">h", _ASSIGNMENT_VERSION),
            _partitions(assignment.partitions),
            _bytes(_MARK if assignment.by_zkgroup else b""),
        )
    )


def decode_assignment(data: bytes) -> MemberAssignment:
    """ValueError where the bytes are no assignment. None at all is an empty one: so brokers answer
    a member that the leader has left out.
    """
    if not data:
        return MemberAssignment()
    reader = _Reader(data)
    reader.int16()
    return MemberAssignment(reader.partitions(), reader.nullable_bytes() == _MARK)


def _string(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">h", len(raw)) + raw


def _bytes(raw: bytes) -> bytes:
    return struct.pack(">i", len(raw)) + raw


def _partitions(partitions: Iterable[TopicPartition]) -> bytes:
    by_topic: dict[str, list[int]] = {}
    for partition in sorted(partitions):
        by_topic.setdefault(partition.topic, []).append(partition.partition)
    return struct.pack(">i", len(by_topic)) + b"".join(_topic(by_topic))


def _topic(by_topic: Mapping[str, list[int]]) -> Iterable[bytes]:
    for topic, numbers in by_topic.items():
        yield _string(topic) + struct.pack(f">{len(numbers) + 1}i", len(numbers), *numbers)


class _Reader:
    """Bytes from any member of the group: every length is checked against what is there."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return int(struct.unpack(">h", self._take(2))[0])

    def int32(self) -> int:
        return int(struct.unpack(">i", self._take(4))[0])

    def count(self, bytes_min: int) -> int:
        """Of entries that take at least so many bytes each."""
        count = self.int32()
        if not 0 <= count <= (len(self._data) - self._at) // bytes_min:
            raise ValueError(f"{count} entries cannot follow at byte {self._at}")
        return count

    def string(self) -> str:
        return self._take(self.int16()).decode()

    def nullable_bytes(self) -> bytes:
        length = self.int32()
        return b"" if length == -1 else self._take(length)

    def partitions(self) -> frozenset[TopicPartition]:
        found = []
        for _ in range(self.count(6)):
            topic = self.string()
            found += [TopicPartition(topic, self.int32()) for _ in range(self.count(4))]
        return frozenset(found)

    def _take(self, length: int) -> bytes:
        end = self._at + length
        if length < 0 or end > len(self._data):
            raise ValueError(f"{length} bytes cannot follow at byte {self._at}")
        taken = self._data[self._at : end]
        self._at = end
        return taken
