"""Requests that list and describe the groups of a cluster, and what their answers say.

kafka-python 3.0 has no ConsumerGroupDescribe (KIP-848). Its two messages are JSON files of this
package, in the form in which kafka-python keeps its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from kafka.protocol.admin import DescribeGroupsRequest
from kafka.protocol.api_message import ApiMessage

from pyspark_zkgroup.kafka.consumer_protocol import decode_assignment, decode_subscription
from pyspark_zkgroup.kafka.wire import BrokerError, error_of
from pyspark_zkgroup.model import BrokeredGroup, BrokeredKind, BrokeredMember, TopicPartition

_KINDS: dict[str, BrokeredKind] = {"": "classic", "classic": "classic", "consumer": "consumer"}
# Groups whose offsets were only ever set by tools have no protocol type.
_CONSUMERS = ("consumer", "")
_CLASSIC_MEMBER = 0


class ConsumerGroupDescribeRequest(ApiMessage, load_json=__package__):  # type: ignore[misc,call-arg]
    pass


class ConsumerGroupDescribeResponse(ApiMessage, load_json=__package__):  # type: ignore[misc,call-arg]
    pass


@dataclass(frozen=True, slots=True)
class ListedGroup:
    group: str
    node: int
    kind: BrokeredKind


def listed_answer(node: int, response: Any) -> BrokerError | tuple[ListedGroup, ...]:
    """The consumer groups among those that a broker coordinates; not those of Kafka Connect, of
    share consumers and of streams.
    """
    error = error_of("list groups", response.error_code)
    if error is not None:
        return error
    found = []
    for group in response.groups:
        kind = _KINDS.get((getattr(group, "group_type", "") or "").lower())
        if kind is not None and group.protocol_type in _CONSUMERS:
            found.append(ListedGroup(group.group_id, node, kind))
    return tuple(found)


def describe_request(kind: BrokeredKind, groups: Sequence[str]) -> Any:
    if kind == "classic":
        return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=False)
    return ConsumerGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=False)


def describe_answer(kind: BrokeredKind, response: Any) -> dict[str, BrokeredGroup | BrokerError]:
    found: dict[str, BrokeredGroup | BrokerError] = {}
    for group in response.groups:
        error = error_of("describe groups", group.error_code)
        if error is not None:
            found[group.group_id] = error
        else:
            found[group.group_id] = _classic(group) if kind == "classic" else _consumer(group)
    return found


def _classic(group: Any) -> BrokeredGroup:
    members = tuple(_classic_member(member, group.group_state) for member in group.members)
    return BrokeredGroup(
        group.group_id, "classic", group.group_state, group.protocol_data or "", members=members
    )


def _classic_member(member: Any, state: str) -> BrokeredMember:
    instance = getattr(member, "group_instance_id", None)
    who = BrokeredMember(member.member_id, member.client_id, member.client_host, instance)
    if state != "Stable":
        return who
    try:
        asked = decode_subscription(bytes(member.member_metadata or b""))
        given = decode_assignment(bytes(member.member_assignment or b""))
    except ValueError as error:
        return BrokeredMember(who.id, who.client, who.host, instance, trouble=f"{error}")
    return BrokeredMember(
        who.id,
        who.client,
        who.host,
        instance,
        asked.topics,
        assigned=given.partitions,
        is_zkgroup=asked.is_zkgroup,
    )


def _consumer(group: Any) -> BrokeredGroup:
    members = tuple(
        BrokeredMember(
            member.member_id,
            member.client_id,
            member.client_host,
            member.instance_id,
            tuple(member.subscribed_topic_names or ()),
            member.subscribed_topic_regex or "",
            _partitions(member.assignment.topic_partitions),
            _partitions(member.target_assignment.topic_partitions),
            is_classic=getattr(member, "member_type", None) == _CLASSIC_MEMBER,
        )
        for member in group.members
    )
    return BrokeredGroup(
        group.group_id,
        "consumer",
        group.group_state,
        group.assignor_name or "",
        int(group.group_epoch),
        members,
    )


def _partitions(topics: Iterable[Any]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(t.topic_name, n) for t in topics for n in t.partitions)
