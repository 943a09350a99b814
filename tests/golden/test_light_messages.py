"""The messages of a light member's stream, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from hypothesis import given
from hypothesis import strategies as st

from pyspark_zkgroup.group.ops import (
    Check,
    Create,
    Delete,
    Done,
    InDoubt,
    NodeVersion,
    Refused,
    SetData,
)
from pyspark_zkgroup.model import TopicPartition
from pyspark_zkgroup.protocols.coordinator.rules.commands import Assigned, Start, Started
from pyspark_zkgroup.protocols.coordinator.rules.generation import Generation
from pyspark_zkgroup.protocols.light.rules import wire
from pyspark_zkgroup.protocols.light.rules.messages import (
    Accepted,
    ChildrenRead,
    Commit,
    Elsewhere,
    Executed,
    Failed,
    Hello,
    Leave,
    NodeRead,
    NodesRead,
    Ping,
    Pong,
    Read,
    Register,
    Registered,
    Rejected,
    Tell,
    ToCoordinator,
    Told,
    ToMember,
)
from pyspark_zkgroup.protocols.light.rules.wire import (
    VERSION,
    BadMessageError,
    decode_from_coordinator,
    decode_from_member,
    encode,
)
from tests.harness import light_proto

FILES = Path(__file__).parent / "light"
WHEN, LIFE = Generation(4294967318, 7), 4294967401
ORDERS = TopicPartition("orders", 3)
OWNER, OFFSET = "/consumers/g/owners/orders/3", "/consumers/g/offsets/orders/3"

FROM_MEMBER: dict[str, ToCoordinator] = {
    "hello": Hello("g", "g_éa", "5f0c", 10_000),
    "register": Register(1, b'{"version":1}', True, {ORDERS: NodeVersion(900, 4)}),
    "read": Read(2, "nodes", (OWNER, OFFSET)),
    "sync": Read(3, "sync"),
    "commit": Commit(
        4,
        (
            (Create(OWNER, b"g_a-0", ephemeral=True), SetData(OWNER, b"g_a-0", 0)),
            (Check(OWNER, 1), SetData(OFFSET, b"\xff\x00", 4)),
            (Check(OFFSET, 4), Delete(OWNER, -1)),
        ),
    ),
    "told": Told(Started(WHEN, LIFE)),
    "pong": Pong(12),
    "leave": Leave(5),
}
FROM_COORDINATOR: dict[str, ToMember] = {
    "accepted": Accepted(4294967318, LIFE, ("k1:9092", "[::1]:9092")),
    "rejected": Rejected("the group's name is not a group's", retriable=False),
    "fenced": Rejected("another process", retriable=False, fenced=True),
    "elsewhere": Elsewhere("c2:7000", "c2"),
    "ping": Ping(12, 11),
    "tell": Tell(Start(WHEN, LIFE, {ORDERS: Assigned(0, 15)}, {"orders": (0, 1, 2, 3)})),
    "nodes_read": NodesRead(2, (NodeRead(b"g_a-0", NodeVersion(901, 1), -9, 905), None)),
    "children_read": ChildrenRead(6, (("0", "10"), None)),
    "executed": Executed(4, (Done((NodeVersion(900, 5),)), Refused(0, "exists"), InDoubt())),
    "registered": Registered(1, LIFE),
    "failed": Failed(1, "taken", "somebody"),
}


@pytest.mark.parametrize("name", FROM_MEMBER)
def test_what_a_member_says(name: str) -> None:
    data = (FILES / f"{name}.bin").read_bytes()
    assert encode(FROM_MEMBER[name]) == data
    assert decode_from_member(data) == FROM_MEMBER[name]
    with pytest.raises(BadMessageError):
        decode_from_coordinator(data)


@pytest.mark.parametrize("name", FROM_COORDINATOR)
def test_what_a_coordinator_says(name: str) -> None:
    data = (FILES / f"{name}.bin").read_bytes()
    assert encode(FROM_COORDINATOR[name]) == data
    assert decode_from_coordinator(data) == FROM_COORDINATOR[name]
    with pytest.raises(BadMessageError):
        decode_from_member(data)


def test_a_newer_version_is_refused_with_both_numbers() -> None:
    with pytest.raises(BadMessageError, match="version 4, this zkgroup reads versions up to 3"):
        decode_from_member((FILES / "from_the_future.bin").read_bytes())


@pytest.mark.parametrize("old", [b'{"version":2,"message":"pong","number":1}', b"\x08\x02", b""])
def test_an_older_version_is_refused_with_the_remedy(old: bytes) -> None:
    with pytest.raises(BadMessageError, match=r"takes only version 3: let .* the same release"):
        decode_from_member(old)


def test_the_compiled_messages_are_those_of_the_source() -> None:
    compiled = descriptor_pb2.FileDescriptorSet.FromString(light_proto.compiled())
    shipped = descriptor_pb2.FileDescriptorSet.FromString(light_proto.COMPILED.read_bytes())
    assert shipped == compiled, "run python -m tests.harness.light_proto"


def test_no_file_is_left_over() -> None:
    names = {path.stem for path in FILES.glob("*.bin")}
    assert names == {*FROM_MEMBER, *FROM_COORDINATOR, "from_the_future"}


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "nothing in it is known"),
        ({"pong": {"number": -2}}, "the number -2 is negative"),
        ({"read": {"what": "NODES", "paths": ["no"]}}, "'no' is no path"),
        ({"read": {"what": "NODES", "paths": ["/a\0"]}}, "is no path"),
        ({"read": {"paths": []}}, '"what" is 0'),
        ({"read": {"what": 9}}, '"what" is 9'),
        ({"commit": {"transactions": [{"ops": [{}]}]}}, "an operation is not known"),
        ({"commit": {"transactions": [{"ops": [{"create": {}}]}]}}, "'' is no path"),
        ({"told": {"answer": b"{}"}}, "the stream"),
        ({"register": {"evidence": [{"partition": 1}]}}, "topic"),
        ({"register": {"registration": b"x" * (1024 * 1024 + 1)}}, "is too long"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_reason(fields: dict[str, Any], reason: str) -> None:
    data = wire._CLASSES["zkgroup.FromMember"](version=VERSION, **fields).SerializeToString()
    with pytest.raises(BadMessageError, match=reason):
        decode_from_member(data)


@pytest.mark.parametrize("data", [b"[]", b"\xff" * 40, b"\x08\x03\x12\x03\x0a\x01\xff"])
def test_bytes_that_are_no_message_are_refused(data: bytes) -> None:
    with pytest.raises(BadMessageError, match="it is not protobuf"):
        decode_from_member(data)


def test_the_text_of_an_error_need_not_be_unicode() -> None:
    failed = decode_from_coordinator(encode(Failed(1, "offline", "caf\udce9")))
    assert failed == Failed(1, "offline", r"caf\udce9")


@given(st.sampled_from(sorted(FROM_MEMBER)), st.integers(0, 400), st.binary(max_size=4))
def test_changed_bytes_are_a_message_or_refused(name: str, at: int, new: bytes) -> None:
    data = encode(FROM_MEMBER[name])
    at = min(at, len(data))
    try:
        message = decode_from_member(data[:at] + new + data[at + len(new) :])
    except BadMessageError:
        return
    assert decode_from_member(encode(message)) == message
