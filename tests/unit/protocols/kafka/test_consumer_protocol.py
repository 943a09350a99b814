from __future__ import annotations

import base64
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from pyspark_zkgroup.kafka.consumer_protocol import (
    MemberAssignment,
    MemberSubscription,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from pyspark_zkgroup.model import TopicPartition

PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 2**31 - 1)),
    max_size=8,
)
SUBSCRIPTIONS = st.builds(
    MemberSubscription,
    st.lists(st.text(max_size=5), max_size=4).map(tuple),
    PARTITIONS,
    st.integers(-1, 2**31 - 1),
    st.booleans(),
)
# Kafka 3.9.1: CooperativeStickyAssignor's subscription to a and b, owning a-0, a-2 and b-1 since
# generation 7, by ConsumerProtocol.serializeSubscription.
OF_JAVA = "AAMAAAACAAFhAAFiAAAABAAAAAcAAAACAAFhAAAAAgAAAAAAAAACAAFiAAAAAQAAAAEAAAAH//8="


@given(SUBSCRIPTIONS)
def test_a_subscription_comes_back(subscription: MemberSubscription) -> None:
    assert decode_subscription(encode_subscription(subscription)) == subscription


@given(st.builds(MemberAssignment, PARTITIONS, st.booleans()))
def test_an_assignment_comes_back(assignment: MemberAssignment) -> None:
    assert decode_assignment(encode_assignment(assignment)) == assignment


@given(SUBSCRIPTIONS)
def test_python_consumers_read_what_we_subscribe_to(subscription: MemberSubscription) -> None:
    read = ConsumerProtocolSubscription.decode(encode_subscription(subscription))
    owned = {(o.topic, n) for o in read.owned_partitions for n in o.partitions}
    assert tuple(read.topics) == subscription.topics
    assert owned == {(p.topic, p.partition) for p in subscription.owned}
    assert read.generation_id == subscription.generation


@given(PARTITIONS)
def test_python_consumers_read_what_we_assign(partitions: frozenset[TopicPartition]) -> None:
    read = ConsumerProtocolAssignment.decode(encode_assignment(MemberAssignment(partitions)))
    found = {(a.topic, n) for a in read.assigned_partitions for n in a.partitions}
    assert found == {(p.topic, p.partition) for p in partitions}


def test_a_java_subscription_is_read() -> None:
    owned = frozenset({TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1)})
    assert decode_subscription(base64.b64decode(OF_JAVA)) == MemberSubscription(
        ("a", "b"), owned, 7
    )


def test_a_python_subscription_names_no_generation() -> None:
    given_ = ConsumerProtocolSubscription(
        version=1,
        topics=["t"],
        user_data=b"",
        owned_partitions=[
            ConsumerProtocolSubscription.TopicPartition(topic="t", partitions=[1]),
        ],
    )
    read = decode_subscription(bytes(given_.encode(version=1, header=True)))
    assert read == MemberSubscription(("t",), frozenset({TopicPartition("t", 1)}), None)


@given(st.binary(max_size=60))
def test_garbage_is_refused_and_nothing_worse(data: bytes) -> None:
    for decode in (decode_subscription, decode_assignment):
        with suppress(ValueError):
            decode(data)


def test_a_length_that_lies_takes_no_memory() -> None:
    with pytest.raises(ValueError, match="cannot follow"):
        decode_subscription(b"\0\0" + b"\x7f\xff\xff\xff")


def test_a_member_without_an_assignment_from_the_leader_holds_nothing() -> None:
    assert decode_assignment(b"") == MemberAssignment()
