"""What brokers answer about their groups, as values; encoded and decoded as on a connection."""

from __future__ import annotations

import io
from typing import Any

from kafka.protocol.admin import DescribeGroupsResponse, ListGroupsResponse

from pyspark_zkgroup.kafka.brokered_wire import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ListedGroup,
    describe_answer,
    describe_request,
    listed_answer,
)
from pyspark_zkgroup.kafka.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    encode_assignment,
    encode_subscription,
)
from pyspark_zkgroup.kafka.wire import BrokerError
from pyspark_zkgroup.model import BrokeredMember, TopicPartition

T0, T1 = TopicPartition("orders", 0), TopicPartition("orders", 1)


def sent(message: Any, version: int) -> Any:
    """As it arrives."""
    return type(message).decode(io.BytesIO(bytes(message.encode(version=version))), version=version)


def classic(state: str, metadata: bytes, assignment: bytes) -> Any:
    group = DescribeGroupsResponse.DescribedGroup
    member = group.DescribedGroupMember(
        member_id="app-1",
        group_instance_id=None,
        client_id="app",
        client_host="/10.0.0.1",
        member_metadata=metadata,
        member_assignment=assignment,
    )
    described = group(
        error_code=0,
        error_message=None,
        group_id="billing",
        group_state=state,
        protocol_type="consumer",
        protocol_data="range",
        members=[member],
        authorized_operations=None,
    )
    return sent(DescribeGroupsResponse(throttle_time_ms=0, groups=[described]), 5)


def test_a_classic_member_is_described_with_topics_and_assignment() -> None:
    metadata = encode_subscription(MemberSubscription(("orders",), is_zkgroup=True))
    assignment = encode_assignment(MemberAssignment(frozenset({T0, T1})))
    found = describe_answer("classic", classic("Stable", metadata, assignment))["billing"]
    assert not isinstance(found, BrokerError)
    assert (found.state, found.assignor) == ("Stable", "range")
    assert found.members == (
        BrokeredMember(
            "app-1",
            "app",
            "/10.0.0.1",
            None,
            ("orders",),
            assigned=frozenset({T0, T1}),
            is_zkgroup=True,
        ),
    )


def test_bytes_that_are_no_subscription_are_the_members_trouble() -> None:
    found = describe_answer("classic", classic("Stable", b"\x00", b""))["billing"]
    assert not isinstance(found, BrokerError)
    assert "cannot follow" in found.members[0].trouble


def test_during_a_rebalance_only_names_are_described() -> None:
    found = describe_answer("classic", classic("PreparingRebalance", b"", b""))["billing"]
    assert not isinstance(found, BrokerError)
    assert found.members == (BrokeredMember("app-1", "app", "/10.0.0.1"),)


def test_a_group_of_the_consumer_protocol_is_described_with_its_targets() -> None:
    group = ConsumerGroupDescribeResponse.DescribedGroup
    part = group.Member.Assignment.TopicPartitions

    def assignment(*numbers: int) -> Any:
        topic = part(topic_id=None, topic_name="orders", partitions=list(numbers))
        return group.Member.Assignment(topic_partitions=[topic])

    member = group.Member(
        member_id="m",
        instance_id="i",
        rack_id=None,
        member_epoch=3,
        client_id="app",
        client_host="/h",
        subscribed_topic_names=["orders"],
        subscribed_topic_regex=None,
        assignment=assignment(0),
        target_assignment=assignment(0, 1),
        member_type=0,
    )
    described = group(
        error_code=0,
        error_message=None,
        group_id="new",
        group_state="Reconciling",
        group_epoch=3,
        assignment_epoch=3,
        assignor_name="uniform",
        members=[member],
        authorized_operations=0,
    )
    answer = sent(ConsumerGroupDescribeResponse(throttle_time_ms=0, groups=[described]), 1)
    found = describe_answer("consumer", answer)["new"]
    assert not isinstance(found, BrokerError)
    assert (found.kind, found.state, found.assignor, found.epoch) == (
        "consumer",
        "Reconciling",
        "uniform",
        3,
    )
    (one,) = found.members
    assert (one.assigned, one.target) == (frozenset({T0}), frozenset({T0, T1}))
    assert (one.instance, one.is_classic) == ("i", True)


def test_each_kind_is_asked_by_its_own_request() -> None:
    assert isinstance(describe_request("consumer", ["g"]), ConsumerGroupDescribeRequest)
    assert describe_request("classic", ["g"]).groups == ["g"]


def test_groups_of_connect_streams_and_share_consumers_are_left_out() -> None:
    entry = ListGroupsResponse.ListedGroup
    kinds = [
        ("a", "consumer", "classic"),
        ("b", "consumer", "consumer"),
        ("c", "connect", "classic"),
        ("d", "share", "share"),
        ("e", "", "classic"),
    ]
    groups = [
        entry(group_id=name, protocol_type=kind, group_state="Stable", group_type=group_type)
        for name, kind, group_type in kinds
    ]
    answer = sent(ListGroupsResponse(throttle_time_ms=0, error_code=0, groups=groups), 5)
    assert listed_answer(4, answer) == (
        ListedGroup("a", 4, "classic"),
        ListedGroup("b", 4, "consumer"),
        ListedGroup("e", 4, "classic"),
    )
