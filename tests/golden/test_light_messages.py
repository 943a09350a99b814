"""The messages of a light member's stream, byte by byte."""

from __future__ import annotations

from pathlib import Path

import pytest
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
    BadMessageError,
    decode_from_coordinator,
    decode_from_member,
    encode,
)

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
    data = (FILES / f"{name}.json").read_bytes().rstrip(b"\n")
    assert encode(FROM_MEMBER[name]) == data
    assert decode_from_member(data) == FROM_MEMBER[name]
    with pytest.raises(BadMessageError):
        decode_from_coordinator(data)


@pytest.mark.parametrize("name", FROM_COORDINATOR)
def test_what_a_coordinator_says(name: str) -> None:
    data = (FILES / f"{name}.json").read_bytes().rstrip(b"\n")
    assert encode(FROM_COORDINATOR[name]) == data
    assert decode_from_coordinator(data) == FROM_COORDINATOR[name]
    with pytest.raises(BadMessageError):
        decode_from_member(data)


def test_a_newer_version_is_refused_with_both_numbers() -> None:
    with pytest.raises(BadMessageError, match="version 3, this zkgroup reads versions up to 2"):
        decode_from_member((FILES / "from_the_future.json").read_bytes())


def test_an_older_version_is_refused_with_both_numbers() -> None:
    old = b'{"version":1,"message":"pong","number":1}'
    with pytest.raises(BadMessageError, match="version 1, this zkgroup takes only version 2"):
        decode_from_member(old)


def test_no_file_is_left_over() -> None:
    names = {path.stem for path in FILES.glob("*.json")}
    assert names == {*FROM_MEMBER, *FROM_COORDINATOR, "from_the_future"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"version":1}',
        b'{"version":2,"message":"shout"}',
        b'{"version":2,"message":"pong","number":true}',
        b'{"version":2,"message":"pong","number":1e3}',
        b'{"version":2,"message":"read","number":1,"what":"nodes","paths":["no"]}',
        b'{"version":2,"message":"read","number":1,"what":"watch","paths":[]}',
        b'{"version":2,"message":"commit","number":1,"transactions":[[["create","/p"]]]}',
        b'{"version":2,"message":"commit","number":1,"transactions":[[["move","/p","/q"]]]}',
        b'{"version":2,"message":"told","answer":"{}"}',
        '{"version":2,"message":"register","number":1,"registration":"€","static":false}'.encode(),
        b"[" * 100_000,
    ],
)
def test_what_is_none_is_refused(data: bytes) -> None:
    with pytest.raises(BadMessageError):
        decode_from_member(data)


@given(st.sampled_from(sorted(FROM_MEMBER)), st.integers(0, 400), st.binary(max_size=4))
def test_changed_bytes_are_a_message_or_refused(name: str, at: int, new: bytes) -> None:
    data = encode(FROM_MEMBER[name])
    at = min(at, len(data))
    try:
        message = decode_from_member(data[:at] + new + data[at + len(new) :])
    except BadMessageError:
        return
    assert decode_from_member(encode(message)) == message
