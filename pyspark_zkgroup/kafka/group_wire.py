"""What is asked about a group of the broker that keeps its offsets, as values.

Commits are those of a consumer that belongs to no group of the brokers': no generation, no member.
They are taken as long as no such consumer is in the group.

Versions end where topics become ids, and offset fetches where one request is for many groups.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest, ListGroupsRequest
from kafka.protocol.consumer.group import OffsetCommitRequest, OffsetFetchRequest
from kafka.protocol.metadata import FindCoordinatorRequest

from pyspark_zkgroup.kafka.error_codes import GROUP_ID_NOT_FOUND
from pyspark_zkgroup.kafka.wire import BrokerError, error_of
from pyspark_zkgroup.model import BrokerMember, StoredOffset, TopicPartition

_NO_GENERATION = -1
_OF_A_GROUP = 0
_STATES_OF_MEMBERS = ("Assigning", "Reconciling", "Stable")


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    members: tuple[BrokerMember, ...] = ()
    is_of_new_kind: bool = False
    """Coordinated by the protocol of Kafka 4.0, which this question does not tell more about."""


def coordinator_request(group: str) -> Any:
    return FindCoordinatorRequest(key=group, key_type=_OF_A_GROUP, max_version=3)


def coordinator_answer(response: Any) -> int | BrokerError:
    error = error_of("find coordinator", response.error_code)
    return int(response.node_id) if error is None else error


def commit_request(group: str, offsets: Mapping[TopicPartition, int], note: str) -> Any:
    entry = OffsetCommitRequest.OffsetCommitRequestTopic.OffsetCommitRequestPartition
    by_topic: dict[str, list[Any]] = {}
    for tp, offset in sorted(offsets.items()):
        by_topic.setdefault(tp.topic, []).append(
            entry(
                partition_index=tp.partition,
                committed_offset=offset,
                committed_leader_epoch=-1,
                committed_metadata=note,
            )
        )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=_NO_GENERATION,
        member_id="",
        group_instance_id=None,
        retention_time_ms=-1,
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=entries)
            for topic, entries in by_topic.items()
        ],
        min_version=2,
        max_version=9,
    )


def commit_answer(response: Any) -> dict[TopicPartition, BrokerError | None]:
    return {
        TopicPartition(topic.name, entry.partition_index): error_of("commit", entry.error_code)
        for topic in response.topics
        for entry in topic.partitions
    }


def fetch_request(group: str, partitions: Iterable[TopicPartition] | None) -> Any:
    """None asks for all that the group has."""
    by_topic: dict[str, list[int]] = {}
    for tp in sorted(partitions or ()):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    return OffsetFetchRequest(
        group_id=group,
        topics=None
        if partitions is None
        else [
            OffsetFetchRequest.OffsetFetchRequestTopic(name=topic, partition_indexes=numbers)
            for topic, numbers in by_topic.items()
        ],
        require_stable=False,
        # Version 0 reads ZooKeeper, and 1 cannot ask for all.
        min_version=2 if partitions is None else 1,
        max_version=7,
    )


def fetch_answer(
    response: Any,
) -> BrokerError | dict[TopicPartition, StoredOffset | BrokerError | None]:
    """None where the group has no offset."""
    error = error_of("offset fetch", response.error_code or 0)
    if error is not None:
        return error
    found: dict[TopicPartition, StoredOffset | BrokerError | None] = {}
    for topic in response.topics:
        for entry in topic.partitions:
            answer: StoredOffset | BrokerError | None = error_of("offset fetch", entry.error_code)
            if answer is None and entry.committed_offset >= 0:
                answer = StoredOffset(entry.committed_offset, entry.metadata or "")
            found[TopicPartition(topic.name, entry.partition_index)] = answer
    return found


def describe_request(group: str) -> Any:
    return DescribeGroupsRequest(groups=[group], include_authorized_operations=False)


def describe_answer(response: Any) -> BrokerError | DescribedGroup:
    (group,) = response.groups
    error = error_of("describe groups", group.error_code)
    if error is not None and error.code == GROUP_ID_NOT_FOUND:
        return DescribedGroup(is_of_new_kind="not a classic group" in (group.error_message or ""))
    if error is not None:
        return error
    return DescribedGroup(
        tuple(
            BrokerMember(m.client_id or m.member_id, m.client_host, bytes(m.member_metadata or b""))
            for m in group.members
        )
    )


def list_request() -> Any:
    """Of all groups that the broker itself coordinates, in whatever state."""
    return ListGroupsRequest(states_filter=[], types_filter=[])


def list_live_request() -> Any:
    """Of the groups that the broker itself coordinates."""
    return ListGroupsRequest(states_filter=list(_STATES_OF_MEMBERS), types_filter=[], min_version=4)


def list_live_answer(response: Any) -> BrokerError | frozenset[str]:
    error = error_of("list groups", response.error_code)
    return frozenset(g.group_id for g in response.groups) if error is None else error
