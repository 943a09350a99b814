"""What a member of a group asks its coordinator, as values: join, sync, heartbeat, leave, and
commits that name a member and its generation.

What members tell each other in a join and a sync is carried as bytes. A static member needs
versions that know instances; without one they are negotiated down to Kafka 0.11.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafka.protocol.consumer.group import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)

from pyspark_zkgroup.model import TopicPartition

_PROTOCOL_TYPE = "consumer"
_INSTANCES_SINCE = {"join": 5, "sync": 3, "heartbeat": 3, "leave": 3, "commit": 7}


@dataclass(frozen=True, slots=True)
class Membership:
    """Under whose name a request is sent."""

    group: str
    member: str = ""
    generation: int = -1
    instance: str | None = None

    def version_min(self, request: str, otherwise: int = 0) -> int:
        return otherwise if self.instance is None else _INSTANCES_SINCE[request]


@dataclass(frozen=True, slots=True)
class JoinedMember:
    id: str
    instance: str | None
    subscription: bytes


@dataclass(frozen=True, slots=True)
class JoinAnswer:
    """Only the leader receives the members. `skip`: the group has its assignment already, and a
    static leader that is back must not make another.
    """

    code: int
    member: str
    generation: int
    leads: bool
    members: tuple[JoinedMember, ...]
    skip: bool


@dataclass(frozen=True, slots=True)
class SyncAnswer:
    code: int
    assignment: bytes


@dataclass(frozen=True, slots=True)
class Write:
    offset: int
    metadata: str


def join_request(
    who: Membership,
    *,
    protocol: str,
    subscription: bytes,
    session_timeout_ms: int,
    rebalance_timeout_ms: int,
    reason: str,
) -> Any:
    offered = JoinGroupRequest.JoinGroupRequestProtocol(name=protocol, metadata=subscription)
    return JoinGroupRequest(
        group_id=who.group,
        session_timeout_ms=session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_ms,
        member_id=who.member,
        group_instance_id=who.instance,
        protocol_type=_PROTOCOL_TYPE,
        protocols=[offered],
        reason=reason,
        min_version=who.version_min("join"),
    )


def join_answer(response: Any) -> JoinAnswer:
    members = tuple(
        JoinedMember(m.member_id, getattr(m, "group_instance_id", None), bytes(m.metadata))
        for m in response.members
    )
    return JoinAnswer(
        code=int(response.error_code),
        member=response.member_id,
        generation=int(response.generation_id),
        leads=bool(response.member_id) and response.leader == response.member_id,
        members=members,
        skip=bool(response.skip_assignment),
    )


def sync_request(who: Membership, *, protocol: str, assignments: Mapping[str, bytes]) -> Any:
    entry = SyncGroupRequest.SyncGroupRequestAssignment
    return SyncGroupRequest(
        group_id=who.group,
        generation_id=who.generation,
        member_id=who.member,
        group_instance_id=who.instance,
        protocol_type=_PROTOCOL_TYPE,
        protocol_name=protocol,
        assignments=[entry(member_id=m, assignment=a) for m, a in sorted(assignments.items())],
        min_version=who.version_min("sync"),
    )


def sync_answer(response: Any) -> SyncAnswer:
    return SyncAnswer(int(response.error_code), bytes(response.assignment or b""))


def heartbeat_request(who: Membership) -> Any:
    return HeartbeatRequest(
        group_id=who.group,
        generation_id=who.generation,
        member_id=who.member,
        group_instance_id=who.instance,
        min_version=who.version_min("heartbeat"),
    )


def heartbeat_answer(response: Any) -> int:
    return int(response.error_code)


def leave_request(who: Membership, reason: str) -> Any:
    identity = LeaveGroupRequest.MemberIdentity(
        member_id=who.member, group_instance_id=who.instance, reason=reason
    )
    return LeaveGroupRequest(
        group_id=who.group,
        member_id=who.member,
        members=[identity],
        min_version=who.version_min("leave"),
    )


def commit_request(who: Membership, writes: Mapping[TopicPartition, Write]) -> Any:
    topic_entry = OffsetCommitRequest.OffsetCommitRequestTopic
    by_topic: dict[str, list[Any]] = {}
    for partition, write in sorted(writes.items()):
        by_topic.setdefault(partition.topic, []).append(
            topic_entry.OffsetCommitRequestPartition(
                partition_index=partition.partition,
                committed_offset=write.offset,
                committed_leader_epoch=-1,
                committed_metadata=write.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=who.group,
        generation_id_or_member_epoch=who.generation,
        member_id=who.member,
        group_instance_id=who.instance,
        retention_time_ms=-1,
        topics=[topic_entry(name=t, partitions=entries) for t, entries in by_topic.items()],
        min_version=who.version_min("commit", 2),
        max_version=9,
    )


def commit_answer(response: Any) -> dict[TopicPartition, int]:
    return {
        TopicPartition(topic.name, entry.partition_index): int(entry.error_code)
        for topic in response.topics
        for entry in topic.partitions
    }
