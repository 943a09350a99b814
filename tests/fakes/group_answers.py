"""What a fake group coordinator answers, as the fields that the product reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

from pyspark_zkgroup.kafka import error_codes as codes
from pyspark_zkgroup.model import TopicPartition
from tests.fakes.broker_group import Group, GroupMember, Stored

WORDS = {
    "JoinGroupRequest": "join",
    "SyncGroupRequest": "sync",
    "HeartbeatRequest": "heartbeat",
    "LeaveGroupRequest": "leave",
    "OffsetCommitRequest": "commit",
    "OffsetFetchRequest": "fetch",
}


def joined(group: Group, member: GroupMember, *, skip: bool = False) -> Any:
    leads = group.leader == member.id
    entries = [
        SimpleNamespace(member_id=m.id, group_instance_id=m.instance, metadata=m.subscription)
        for m in (group.members.values() if leads else ())
    ]
    return SimpleNamespace(
        error_code=codes.NONE,
        member_id=member.id,
        generation_id=group.generation,
        leader=group.leader,
        members=entries,
        skip_assignment=skip,
    )


def not_joined(code: int, name: str) -> Any:
    return SimpleNamespace(
        error_code=code,
        member_id=name,
        generation_id=-1,
        leader="",
        members=[],
        skip_assignment=False,
    )


def synced(code: int, assignment: bytes = b"") -> Any:
    return SimpleNamespace(error_code=code, assignment=assignment)


def committed(request: Any, code_of: Callable[[str, Any], int]) -> Any:
    topics = [
        SimpleNamespace(
            name=topic.name,
            partitions=[
                SimpleNamespace(
                    partition_index=one.partition_index, error_code=code_of(topic.name, one)
                )
                for one in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return SimpleNamespace(topics=topics)


def fetched(
    request: Any, offsets: Mapping[TopicPartition, Stored], denied: Collection[str] = ()
) -> Any:
    none = Stored(-1, "")

    def entry(topic: str, number: int) -> Any:
        stored = offsets.get(TopicPartition(topic, number), none)
        return SimpleNamespace(
            partition_index=number,
            error_code=codes.TOPIC_AUTHORIZATION_FAILED if topic in denied else codes.NONE,
            committed_offset=stored.offset,
            metadata=stored.metadata,
        )

    topics = [
        SimpleNamespace(name=t.name, partitions=[entry(t.name, n) for n in t.partition_indexes])
        for t in request.topics
    ]
    return SimpleNamespace(error_code=codes.NONE, topics=topics)


def refused(kind: str, request: Any, code: int) -> Any:
    """By one that is not this group's coordinator, or not yet."""
    if kind == "JoinGroupRequest":
        return not_joined(code, request.member_id)
    if kind == "SyncGroupRequest":
        return synced(code)
    if kind == "OffsetCommitRequest":
        return committed(request, lambda _topic, _one: code)
    return SimpleNamespace(error_code=code, topics=[])
