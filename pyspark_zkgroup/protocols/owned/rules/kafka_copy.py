"""The copy of a group's offsets in Kafka, and when an offset found there counts.

The node in ZooKeeper is authoritative, since it is the fence as well: only there can a write depend
on the owner of the partition. Each copy is marked as one. So a copy differs from an offset that
another client has written (a JVM member, a consumer group of the brokers, Kafka's own tools), and a
copy that a member wrote after it had lost the partition never moves another member.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pyspark_zkgroup.errors import AssignmentError
from pyspark_zkgroup.kafka.consumer_protocol import decode_subscription
from pyspark_zkgroup.listing import first_few
from pyspark_zkgroup.model import BrokerMember, CommitRefused, StoredOffset, TopicPartition

_MARK = "zkgroup "
_NAMED_MAX = 10
# By default Kafka lets a group's offsets expire after seven days without a commit.
REFRESH_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class Copied:
    value: int
    at_s: float


def note_of(consumer: str) -> str:
    return _MARK + consumer


def is_copy(stored: StoredOffset) -> bool:
    return stored.note.startswith(_MARK)


def counting(in_zookeeper: int | None, stored: StoredOffset | None, *, dual: bool) -> int | None:
    """Return the group's offset. `dual`: clients that commit to Kafka commit to ZooKeeper as well.

    Offsets from before the first zkgroup member are in Kafka alone or in both; then the larger one
    counts, as for the old consumers. If other clients continue to commit to Kafka alone, that one
    counts.
    """
    if stored is None or in_zookeeper is None:
        return in_zookeeper if stored is None else stored.offset
    if is_copy(stored):
        return in_zookeeper
    return max(in_zookeeper, stored.offset) if dual else stored.offset


def is_behind(in_zookeeper: int | None, stored: StoredOffset) -> bool:
    """Return whether another client has set it, perhaps to an earlier offset."""
    return in_zookeeper is not None and stored.offset < in_zookeeper and not is_copy(stored)


def both_named(
    partitions: Collection[TopicPartition],
    in_zookeeper: Mapping[TopicPartition, int | None],
    stored: Mapping[TopicPartition, StoredOffset],
) -> str:
    texts = (
        f"{p} at {stored[p].offset} (in ZooKeeper {in_zookeeper[p]})" for p in sorted(partitions)
    )
    return first_few(texts, _NAMED_MAX, kind="partition")


def due(
    committed: Mapping[TopicPartition, int],
    copied: Mapping[TopicPartition, Copied],
    now_s: float,
) -> dict[TopicPartition, int]:
    """Return what is not copied yet, or so long ago that the brokers may forget it."""
    return {
        p: value
        for p, value in committed.items()
        if (last := copied.get(p)) is None or last.value != value or now_s - last.at_s >= REFRESH_S
    }


def live_group(group: str, members: Collection[BrokerMember]) -> AssignmentError:
    return AssignmentError.of("group_of_brokers", group=group, members=named(members))


def switched(group: str, members: Collection[BrokerMember]) -> AssignmentError | None:
    """Refuse if some of them are zkgroup members: the group is changing its protocol."""
    ours = [member for member in members if _is_zkgroup(member)]
    if not ours:
        return None
    return AssignmentError.of("members_with_protocol_kafka", group=group, members=named(ours))


def _is_zkgroup(member: BrokerMember) -> bool:
    try:
        return decode_subscription(member.metadata).is_zkgroup
    except ValueError:
        return False


def named(members: Collection[BrokerMember]) -> str:
    return first_few(members, _NAMED_MAX)


def refusal_text(refused: Mapping[TopicPartition, CommitRefused]) -> str:
    reason = refused[min(refused)].reason
    return f"{reason} for {first_few(sorted(refused), 1, kind='partition')}"
